"""`scopes redo`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.undo import redo as run_redo


def redo(context: typer.Context) -> int:
    """Redo the operation that was undone last.

    After several undos, redo can be repeated. Any other operation after an undo ends that.

    Examples:
      scopes undo
      scopes redo
    """
    invocation: Invocation = context.obj
    return invocation.show(run_redo(invocation.repository()))
