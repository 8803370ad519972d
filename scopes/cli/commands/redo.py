"""`scopes redo`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.undo import redo as do_again


def redo(context: typer.Context) -> int:
    """Do again what undo took back.

    Examples:
      scopes undo
      scopes redo
    """
    call: Invocation = context.obj
    return call.show(do_again(call.repository()))
