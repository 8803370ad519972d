"""`scopes undo`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.undo import undo as run_undo


def undo(
    context: typer.Context,
    operation: Annotated[
        str | None,
        typer.Argument(metavar="[OPERATION]", help="The operation: a unique prefix of its id (default: the last one)"),
    ] = None,
) -> int:
    """Undo the last operation.

    Every command that changes a conversation is an operation: branch, rewind, rename, delete, merge, ... Repeat undo to
    go further back; redo reverts an undo. Only appends are not operations: use rewind for them.

    Examples:
      scopes undo
      scopes conv operations list
      scopes undo k3x9
    """
    invocation: Invocation = context.obj
    return invocation.show(run_undo(invocation.repository(), operation))
