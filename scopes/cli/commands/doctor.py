"""`scopes doctor`."""

from __future__ import annotations

from scopes.cli import usage
from scopes.cli.host_options import hook_place
from scopes.cli.invocation import Invocation
from scopes.conversation.doctor import doctor as run_doctor
from scopes.handover.live_checks import live_checks
from scopes.server.hook_status import check_hooks


def doctor(context: usage.Context) -> int:
    """Check the installation and the store.

    Checks versions, git, permissions, locks and leftover files; the versions of the Agent Client Protocol (ACP) and of
    the Model Context Protocol (MCP); which agents are installed or have transcripts here; and their hooks. Changes
    nothing.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    invocation: Invocation = context.obj
    live = live_checks(invocation.state_directory, invocation.environ, invocation.home)
    hooks = check_hooks(hook_place(invocation), invocation.state_directory)
    return invocation.show(run_doctor(invocation.store_path, invocation.repository_or_error(), (*live, *hooks)))
