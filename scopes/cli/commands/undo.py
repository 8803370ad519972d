"""`scopes undo`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.undo import undo as take_back


def undo(
    context: typer.Context,
    operation: Annotated[
        str | None, typer.Argument(metavar="[OPERATION]", help="An operation's id; the last one if not given")
    ] = None,
) -> int:
    """Take back the last operation.

    An operation is everything but an append: branch, rewind, rename, delete, ... Undo again goes one further back; redo
    does it again. An append is taken back by rewind.

    Examples:
      scopes undo
      scopes conv operations list
      scopes undo k3x9
    """
    call: Invocation = context.obj
    return call.show(take_back(call.repository(), operation))
