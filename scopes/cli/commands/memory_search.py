"""`scopes memory search`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import NulRows, OfAgent, Since, Template
from scopes.cli.invocation import Invocation
from scopes.memory.search import MemoryFilter, search


def memory_search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words that must all occur, in upper or lower case")],
    agent: OfAgent = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only entries with this topic")] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Look only at one kind: decision, action or summary")
    ] = None,
    since: Since = None,
    min_importance: Annotated[
        int | None, typer.Option("--min-importance", metavar="N", help="Only what is at least so important")
    ] = None,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """Find what is remembered by its words.

    The best fit comes first: words in topics count most, then those in decisions. What was amended or retracted since
    is left out. Exit code 1 means that nothing was found.

    Examples:
      scopes memory search "login cookie"
      scopes memory search sqlite --kind decision --since "2 weeks ago"
      scopes memory search deploy --agent planner --min-importance 6
    """
    call: Invocation = context.obj
    only = MemoryFilter(agent=agent, topic=topic, kind=kind, since=since, min_importance=min_importance)
    return call.show(search(call.repository(), query, only), nul=nul, template=template)
