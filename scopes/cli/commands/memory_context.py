"""`scopes memory context`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import OfAgent
from scopes.cli.invocation import Invocation
from scopes.context.recorded import neutralise
from scopes.memory.context import LIMIT, MAX_CHARACTERS
from scopes.memory.context import context as tell


def memory_context(
    context: typer.Context,
    max_characters: Annotated[
        int, typer.Option("--max-chars", metavar="N", help="At most so many characters")
    ] = MAX_CHARACTERS,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many entries")] = LIMIT,
    agent: OfAgent = None,
) -> int:
    """Print what an agent is told of the past.

    The newest entries, oldest first, each whole or not at all, between two marks as recorded data, not instructions:
    tags and control characters in it are made harmless. What was amended or retracted since is left out.

    Examples:
      scopes memory context
      scopes memory context --agent planner --max-chars 2000 --limit 5
    """
    call: Invocation = context.obj
    told = tell(call.repository(), neutralise=neutralise, max_characters=max_characters, limit=limit, agent=agent)
    return call.show(told)
