"""`scopes memory add`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.authorship import author_of
from scopes.cli.invocation import Invocation
from scopes.cli.message_input import read_text
from scopes.memory.add import add
from scopes.memory.entry import USUAL


def memory_add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input")],
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Whose it is; without it yours")] = None,
    topics: Annotated[list[str] | None, typer.Option("--topic", metavar="TOPIC", help="What it is about")] = None,
    decisions: Annotated[list[str] | None, typer.Option("--decision", metavar="TEXT", help="What was decided")] = None,
    actions: Annotated[list[str] | None, typer.Option("--action", metavar="TEXT", help="What is to be done")] = None,
    importance: Annotated[
        int, typer.Option("--importance", metavar="N", help="From 1 (trivial) to 10 (critical)")
    ] = USUAL,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be remembered, and store nothing")] = False,
) -> int:
    """Remember something by your own words.

    The text has at most 10,000 characters, a topic 100, a decision or an action 500; there are at most 30 of each.

    Examples:
      scopes memory add "The staging database is reset every Monday"
      scopes memory add "Chose SQLite" --agent planner --topic db --decision "SQLite for the index" --importance 7
      scopes memory add "Before the release" --action "rotate the keys"
    """
    call: Invocation = context.obj
    owner = author_of(call, agent, None).name
    done = add(
        call.repository(),
        read_text(call, text),
        agent=owner,
        topics=topics or (),
        decisions=decisions or (),
        actions=actions or (),
        importance=importance,
        dry_run=dry_run,
    )
    return call.show(done)
