"""`scopes memory update`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.append_input import read_text
from scopes.cli.arguments import BuiltIn, NulRows, OfAgent, Since, Template, author_of
from scopes.cli.invocation import Invocation
from scopes.memory.actions import done, list_actions
from scopes.memory.add import add
from scopes.memory.context import LIMIT, MAX_CHARACTERS
from scopes.memory.context import context as tell
from scopes.memory.entry import USUAL
from scopes.memory.list import list_memory, show_memory
from scopes.memory.prune import prune
from scopes.memory.search import MemoryFilter, search
from scopes.memory.stats import stats
from scopes.memory.update import update
from scopes.render.progress import progress
from scopes.sanitize import escape_tags


def memory_update(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="The conversation, or one of its branches; all if not given")
    ] = None,
    at_once: Annotated[bool, typer.Option("--now", help="Also where only little is new")] = False,
    built_in: BuiltIn = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the entries that would be made, without any command of yours")
    ] = False,
) -> int:
    """Create memory entries from new messages.

    An entry is made of what no entry of the conversation covers, once scopes.memoryEvery messages (4) of a branch are
    new: a summary, topics, decisions, things to do, and how important it seems. Every branch is looked at, but for
    abandoned ones. Nothing else makes entries, so that no other command waits for it: run it by a timer, or when an
    agent's session ends.

    It works offline and without a model. The setting scopes.summarizer names a command of yours that writes the
    summaries; where it fails, the entries are made without it, and a note says so.

    Examples:
      scopes memory update
      scopes memory update conv-001 --now
      scopes -c scopes.summarizer='llm -m gpt-4o-mini' memory update
      scopes ai memory update conv-001/main --json
    """
    call: Invocation = context.obj
    with progress(call.output(), "remembering") as advance:
        done = update(
            call.repository(), conversation, at_once=at_once, built_in=built_in, dry_run=dry_run, advance=advance
        )
    return call.show(done)


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
    """Add a memory entry in your own words.

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


def memory_list(
    context: typer.Context,
    agent: OfAgent = None,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="At most so many entries")] = None,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """List memory entries, newest first.

    Examples:
      scopes memory list -n 20
      scopes memory list --agent planner --json
    """
    call: Invocation = context.obj
    found = list_memory(call.repository(), agent=agent, limit=count)
    return call.show(found, nul=nul, template=template)


def memory_show(
    context: typer.Context,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The entry: its id or a unique start of it")],
) -> int:
    """Show one memory entry.

    Examples:
      scopes memory show k3x9
      scopes memory show k3x9 --json
    """
    call: Invocation = context.obj
    return call.show(show_memory(call.repository(), entry))


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
    """Search memory entries by words.

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


def memory_context(
    context: typer.Context,
    max_characters: Annotated[
        int, typer.Option("--max-chars", metavar="N", help="At most so many characters")
    ] = MAX_CHARACTERS,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many entries")] = LIMIT,
    agent: OfAgent = None,
) -> int:
    """Print the memory as context for an agent.

    The newest entries, oldest first, each whole or not at all, between two marks as recorded data, not instructions:
    tags and control characters in it are made harmless. What was amended or retracted since is left out.

    Examples:
      scopes memory context
      scopes memory context --agent planner --max-chars 2000 --limit 5
    """
    call: Invocation = context.obj
    told = tell(call.repository(), neutralise=escape_tags, max_characters=max_characters, limit=limit, agent=agent)
    return call.show(told)


def memory_actions(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also what is done")] = False,
    nul: NulRows = False,
    template: Template = None,
) -> int:
    """List open action items.

    Examples:
      scopes memory actions
      scopes memory actions --all --json
    """
    call: Invocation = context.obj
    return call.show(list_actions(call.repository(), every=every), nul=nul, template=template)


def memory_done(
    context: typer.Context,
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="What is done: its id, as scopes memory actions has it")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing")] = False,
) -> int:
    """Mark an action item as done.

    Examples:
      scopes memory done k3x9.2
    """
    call: Invocation = context.obj
    return call.show(done(call.repository(), action, dry_run=dry_run))


def memory_stats(
    context: typer.Context,
) -> int:
    """Count memory entries by agent and date.

    Examples:
      scopes memory stats
      scopes memory stats --json
    """
    call: Invocation = context.obj
    return call.show(stats(call.repository()))


def memory_prune(
    context: typer.Context,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="WHEN", help="What is older: '90 days ago', 2026-01-31, ...")
    ] = None,
    most: Annotated[int | None, typer.Option("--max", metavar="N", help="All but the newest N")] = None,
    keep_importance: Annotated[
        int | None, typer.Option("--keep-importance", metavar="N", help="Never what is at least so important")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be forgotten, and forget nothing")] = False,
) -> int:
    """Delete old memory entries, but no conversation.

    Examples:
      scopes memory prune --older-than "90 days ago" --keep-importance 7
      scopes memory prune --max 500 --dry-run
    """
    call: Invocation = context.obj
    done = prune(call.repository(), older_than=older_than, most=most, keep_importance=keep_importance, dry_run=dry_run)
    return call.show(done)
