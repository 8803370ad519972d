"""`scopes conv operations list` and `show`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.operations import list_operations, show_operation


def operations_list(
    context: typer.Context,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="Print at most N operations")] = None,
) -> int:
    """List the operations, newest first.

    Examples:
      scopes conv operations list
      scopes conv operations list -n 5 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(list_operations(invocation.repository(), limit=count))


def operations_show(
    context: typer.Context,
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="The operation: a unique prefix of its id")],
) -> int:
    """Show what one operation changed.

    Examples:
      scopes conv operations show k3x9
    """
    invocation: Invocation = context.obj
    return invocation.show(show_operation(invocation.repository(), operation))
