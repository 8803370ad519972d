"""`scopes memory context`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import OfAgent
from scopes.cli.invocation import Invocation
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

    The newest entries, oldest first, each whole or not at all; recorded words, fenced line by line, no instructions.

    Examples:
      scopes memory context
      scopes memory context --agent planner --max-chars 2000 --limit 5
    """
    call: Invocation = context.obj
    return call.show(tell(call.repository(), max_characters=max_characters, limit=limit, agent=agent))
