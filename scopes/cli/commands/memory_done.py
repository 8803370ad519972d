"""`scopes memory done`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.memory.actions import done


def memory_done(
    context: typer.Context,
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="What is done: its id, as scopes memory actions has it")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing")] = False,
) -> int:
    """Mark something as done.

    Examples:
      scopes memory done k3x9.2
    """
    call: Invocation = context.obj
    return call.show(done(call.repository(), action, dry_run=dry_run))
