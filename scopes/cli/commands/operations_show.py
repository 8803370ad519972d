"""`scopes conv operations show`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.operations import show_operation


def operations_show(
    context: typer.Context,
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="The start of its id")],
) -> int:
    """Show what one operation changed.

    Examples:
      scopes conv operations show k3x9
    """
    call: Invocation = context.obj
    return call.show(show_operation(call.repository(), operation))
