"""`scopes memory list`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import NulRows, OfAgent, Template
from scopes.cli.invocation import Invocation
from scopes.memory.list import list_memory


def memory_list(
    context: typer.Context,
    agent: OfAgent = None,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="At most so many entries")] = None,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """List what is remembered, newest first.

    Examples:
      scopes memory list -n 20
      scopes memory list --agent planner --json
    """
    call: Invocation = context.obj
    found = list_memory(call.repository(), agent=agent, limit=count)
    return call.show(found, nul=nul, template=template)
