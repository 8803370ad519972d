"""`scopes doctor`."""

from __future__ import annotations

from scopes.cli import usage
from scopes.cli.invocation import Invocation
from scopes.conversation.doctor import doctor as run_doctor


def doctor(context: usage.Context) -> int:
    """Check the installation and the store.

    Checks versions, git, permissions, locks and leftover files. Changes nothing.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    invocation: Invocation = context.obj
    return invocation.show(run_doctor(invocation.store_path, invocation.repository_or_error()))
