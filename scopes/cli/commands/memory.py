"""`scopes memory`: update, add, list, show, search, context, actions, done, stats and prune."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from scopes.cli.append_input import read_text
from scopes.cli.arguments import AllowSecrets, BuiltIn, FenceMark, OfAgent, Redact, Since, author_of, secrets_mode
from scopes.cli.invocation import Invocation
from scopes.memory.actions import done, list_actions
from scopes.memory.add import add
from scopes.memory.context import LIMIT, MAX_CHARACTERS
from scopes.memory.context import context as run_context
from scopes.memory.entry import DEFAULT_IMPORTANCE
from scopes.memory.list import list_memory
from scopes.memory.prune import prune
from scopes.memory.search import MemoryFilter, search
from scopes.memory.stats import stats
from scopes.memory.update import update
from scopes.render.progress import progress


def memory_update(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="[CONV]", help="The conversation, or one of its branches; default: all conversations"),
    ] = None,
    at_once: Annotated[bool, typer.Option("--now", help="Make entries even of few new messages")] = False,
    built_in: BuiltIn = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the entries without storing them; your summarizer is not run")
    ] = False,
) -> int:
    """Create memory entries from new messages.

    An entry is made for a branch once it has scopes.memoryEvery (4) messages that no entry covers: a summary, topics,
    decisions, action items and an importance. Abandoned branches are skipped. No other command makes entries or waits
    for them: run this one by a timer, or when an agent's session ends.

    It works offline and without a model. The setting scopes.summarizer names a command of yours that writes the
    summaries; if it fails, the entries are made without it, and a note says so.

    Examples:
      scopes memory update
      scopes memory update conv-001 --now
      scopes -c scopes.summarizer='llm -m gpt-4o-mini' memory update
      scopes ai memory update conv-001/main --json
    """
    invocation: Invocation = context.obj
    with progress(invocation.output(), "making memory entries") as on_progress:
        result = update(
            invocation.repository(),
            conversation,
            at_once=at_once,
            built_in=built_in,
            dry_run=dry_run,
            on_progress=on_progress,
        )
    return invocation.show(result)


def memory_add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text of the entry; - reads standard input")],
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The agent it belongs to; default: you")
    ] = None,
    topics: Annotated[list[str] | None, typer.Option("--topic", metavar="TOPIC", help="A topic to find it by")] = None,
    decisions: Annotated[
        list[str] | None, typer.Option("--decision", metavar="TEXT", help="A decision that it records")
    ] = None,
    actions: Annotated[list[str] | None, typer.Option("--action", metavar="TEXT", help="An action item")] = None,
    importance: Annotated[
        int, typer.Option("--importance", metavar="N", help="From 1 (trivial) to 10 (critical)")
    ] = DEFAULT_IMPORTANCE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the entry without storing it")] = False,
) -> int:
    """Add a memory entry in your own words.

    The text has at most 10,000 characters, a topic 100, a decision or an action item 500; at most 30 of each. The entry
    belongs to the project around the current directory, and goes into the prompts of that one.

    Examples:
      scopes memory add "The staging database is reset every Monday"
      scopes memory add "Chose SQLite" --agent planner --topic db --decision "SQLite for the index" --importance 7
      scopes memory add "Before the release" --action "rotate the keys"
    """
    invocation: Invocation = context.obj
    owner = author_of(invocation, agent, None).name
    result = add(
        invocation.repository(),
        read_text(invocation, text),
        agent=owner,
        topics=topics or (),
        decisions=decisions or (),
        actions=actions or (),
        importance=importance,
        directory=invocation.cwd,
        dry_run=dry_run,
    )
    return invocation.show(result)


def memory_list(
    context: typer.Context,
    agent: OfAgent = None,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="List at most N entries")] = None,
) -> int:
    """List memory entries, newest first.

    Examples:
      scopes memory list -n 20
      scopes memory list --agent planner --json
    """
    invocation: Invocation = context.obj
    entries = list_memory(invocation.repository(), agent=agent, limit=count)
    return invocation.show(entries)


def memory_search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words that must all occur, in any case")],
    agent: OfAgent = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only entries with this topic")] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="Search only one kind of text: decision, action or summary"),
    ] = None,
    since: Since = None,
    min_importance: Annotated[
        int | None, typer.Option("--min-importance", metavar="N", help="Only entries of at least this importance")
    ] = None,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="Show at most N entries")] = None,
) -> int:
    """Search memory entries by words.

    The best hit comes first: words in topics weigh most, then words in decisions. Text that was amended or retracted
    since is left out. Exit code 1 means that nothing was found.

    Examples:
      scopes memory search "login cookie"
      scopes memory search sqlite --kind decision --since "2 weeks ago"
      scopes memory search deploy --agent planner --min-importance 6
    """
    invocation: Invocation = context.obj
    filters = MemoryFilter(agent=agent, topic=topic, kind=kind, since=since, min_importance=min_importance)
    found = search(invocation.repository(), query, filters)
    return invocation.show(found if count is None else replace(found, hits=found.hits[:count]))


def memory_context(
    context: typer.Context,
    max_characters: Annotated[
        int, typer.Option("--max-chars", metavar="N", help="Print at most N characters")
    ] = MAX_CHARACTERS,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Print at most N entries")] = LIMIT,
    agent: OfAgent = None,
    mark: FenceMark = None,
    redact: Redact = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Print the memory as context for an agent.

    The newest entries are printed oldest first, each whole or not at all, between two lines with a random mark
    (--mark fixes it) as recorded data, not instructions: tags and invisible characters are made harmless. Text that was
    amended or retracted since is left out. A text with possible secrets is refused, unless --redact replaces them or
    --allow-secrets lets them pass this time.

    Examples:
      scopes memory context
      scopes memory context --agent planner --max-chars 2000 --limit 5
    """
    invocation: Invocation = context.obj
    result = run_context(
        invocation.repository(),
        max_characters=max_characters,
        limit=limit,
        agent=agent,
        mark=mark,
        secrets=secrets_mode(redact=redact, allow_secrets=allow_secrets),
    )
    return invocation.show(result)


def memory_actions(
    context: typer.Context,
    include_done: Annotated[bool, typer.Option("--all", "-a", help="List closed items too")] = False,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="List at most N items")] = None,
) -> int:
    """List open action items.

    Examples:
      scopes memory actions
      scopes memory actions --all --json
    """
    invocation: Invocation = context.obj
    found = list_actions(invocation.repository(), include_done=include_done)
    return invocation.show(found if count is None else replace(found, actions=found.actions[:count]))


def memory_done(
    context: typer.Context,
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="The action item: its id, as in scopes memory actions")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result without storing it")] = False,
) -> int:
    """Mark an action item as done.

    Examples:
      scopes memory done k3x9.2
    """
    invocation: Invocation = context.obj
    return invocation.show(done(invocation.repository(), action, dry_run=dry_run))


def memory_stats(
    context: typer.Context,
) -> int:
    """Count memory entries by agent and date.

    Examples:
      scopes memory stats
      scopes memory stats --json
    """
    invocation: Invocation = context.obj
    return invocation.show(stats(invocation.repository()))


def memory_prune(
    context: typer.Context,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="WHEN", help="Delete older entries: '90 days ago', 2026-01-31, ..."),
    ] = None,
    max_entries: Annotated[int | None, typer.Option("--max", metavar="N", help="Delete all but the newest N")] = None,
    keep_importance: Annotated[
        int | None, typer.Option("--keep-importance", metavar="N", help="Keep entries of at least this importance")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the entries without deleting them")] = False,
) -> int:
    """Delete old memory entries, but no conversation.

    Examples:
      scopes memory prune --older-than "90 days ago" --keep-importance 7
      scopes memory prune --max 500 --dry-run
    """
    invocation: Invocation = context.obj
    result = prune(
        invocation.repository(),
        older_than=older_than,
        max_entries=max_entries,
        keep_importance=keep_importance,
        dry_run=dry_run,
    )
    return invocation.show(result)
