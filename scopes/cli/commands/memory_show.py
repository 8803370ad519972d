"""`scopes memory show`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.memory.list import show_memory


def memory_show(
    context: typer.Context,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The entry: its id or a unique start of it")],
) -> int:
    """Show one entry of the memory.

    Examples:
      scopes memory show k3x9
      scopes memory show k3x9 --json
    """
    call: Invocation = context.obj
    return call.show(show_memory(call.repository(), entry))
