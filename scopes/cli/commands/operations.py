"""`scopes operations list` and `show`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.undo import list_operations, show_operation


def operations_list(
    context: typer.Context,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="Print at most N operations")] = None,
) -> int:
    """List the operations, newest first.

    Appends are not operations and are not listed, although `undo` takes them back, too: `scopes undo --dry-run` shows
    what would be undone next, and `scopes log` the messages.

    Every command that reads accepts --at OPERATION, and shows the store as it was after that operation: by a
    prefix of its id, by its place (@ is the newest one, @- and @{2} are those before it), or by a time ('2 hours ago').
    Later appends are recognized by the reflogs of the branches. git expires reflogs, and deletes those of deleted
    branches: where one is missing, messages that were appended later are shown as well. Operations that gc --expire
    deleted cannot be named any more.

    Examples:
      scopes operations list
      scopes log conv-001 --at @-
      scopes list --at '2 hours ago'
      scopes operations list -n 5 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(list_operations(invocation.repository(), limit=count))


def operations_show(
    context: typer.Context,
    operation: Annotated[
        str, typer.Argument(metavar="OPERATION", help="A unique prefix of its id, or its place: @, @-, @{2}")
    ],
) -> int:
    """Show what one operation changed.

    It is named as in --at: @ is the newest one, @- and @{2} are those before it, and @{yesterday} is the last
    one before that time.

    Examples:
      scopes operations show k3x9
      scopes operations show @
    """
    invocation: Invocation = context.obj
    return invocation.show(show_operation(invocation.repository(), operation))
