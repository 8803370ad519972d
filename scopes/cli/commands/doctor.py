"""`scopes doctor`."""

from __future__ import annotations

from scopes.cli import usage
from scopes.cli.invocation import Invocation
from scopes.conversation.doctor import doctor as run_doctor
from scopes.handover.live_checks import live_checks


def doctor(context: usage.Context) -> int:
    """Check the installation and the store.

    Checks versions, git, permissions, locks and leftover files; the versions of the Agent Client Protocol (ACP) and of
    the Model Context Protocol (MCP); and which agents are installed or have transcripts here. Changes nothing.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    invocation: Invocation = context.obj
    more = live_checks(invocation.state_directory, invocation.environ, invocation.home)
    return invocation.show(run_doctor(invocation.store_path, invocation.repository_or_error(), more))
