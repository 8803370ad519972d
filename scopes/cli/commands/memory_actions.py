"""`scopes memory actions`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import NulRows, Template
from scopes.cli.invocation import Invocation
from scopes.memory.actions import list_actions


def memory_actions(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also what is done")] = False,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """List what is left to do.

    Examples:
      scopes memory actions
      scopes memory actions --all --json
    """
    call: Invocation = context.obj
    return call.show(list_actions(call.repository(), every=every), nul=nul, template=template)
