"""`scopes memory`: what to remember across conversations."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import Limit, OnlyAgent, Since, Text, Texts, argument, author_of, option
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
from scopes.render.output import progress


def memory_update(
    invocation: Invocation,
    where: Annotated[Text, argument("[WHERE]", "The conversation or branch (default: all conversations)")] = None,
    at_once: Annotated[bool, option("--now", "Even of few new messages")] = False,
) -> int:
    """Create memory entries from new messages.

    An entry is made for a branch once it has scopes.memoryEvery (4) messages that no entry covers: a summary, topics,
    decisions, action items and an importance. It works offline; the setting scopes.summarizer names a program of yours
    that writes the summaries.

    Examples:
      scopes memory update
      scopes memory update conv-001 --now
    """
    with progress(invocation.output(), "making memory entries") as on_progress:
        repository = invocation.repository()
        result = update(repository, where, at_once=at_once, dry_run=invocation.dry_run, on_progress=on_progress)
    return invocation.show(result)


def memory_add(
    invocation: Invocation,
    text: Annotated[str, argument("TEXT", "The text of the entry; - reads standard input")],
    agent: Annotated[Text, option("--agent NAME", "Its author (default: you)")] = None,
    topics: Annotated[Texts, option("--topic TOPIC", "A topic to find it by")] = None,
    decisions: Annotated[Texts, option("--decision TEXT", "A decision that it records")] = None,
    actions: Annotated[Texts, option("--action TEXT", "Something to do")] = None,
    importance: Annotated[int, option("--importance N", "From 1 (trivial) to 10 (critical)")] = DEFAULT_IMPORTANCE,
) -> int:
    """Add an entry in your own words.

    It belongs to the project around the current directory.

    Examples:
      scopes memory add 'Tests need Postgres 16' --topic tests --importance 8
      scopes memory add - --agent codex < notes.txt
    """
    from scopes.cli.append_input import read_text

    result = add(
        invocation.repository(),
        read_text(invocation, text),
        agent=author_of(invocation, agent).name,
        topics=topics or (),
        decisions=decisions or (),
        actions=actions or (),
        importance=importance,
        directory=invocation.cwd,
        dry_run=invocation.dry_run,
    )
    return invocation.show(result)


def memory_list(
    invocation: Invocation,
    words: Annotated[Texts, argument("[WORD...]", "Words that must all occur, in any case")] = None,
    limit: Limit = None,
    since: Since = None,
    agent: OnlyAgent = None,
    topic: Annotated[Text, option("--topic TOPIC", "Only with this topic")] = None,
    kind: Annotated[Text, option("--kind KIND", "Search decision, action or summary")] = None,
    min_importance: Annotated[int | None, option("--min-importance N", "Only from this importance on")] = None,
    count: Annotated[bool, option("--stat", "Count entries by agent and date")] = False,
) -> int:
    """List entries, newest first, or find some.

    With words the best hit comes first, and exit code 1 means that nothing was found.

    Examples:
      scopes memory
      scopes memory list postgres --kind decision
      scopes memory list --stat
    """
    repository = invocation.repository()
    if count:
        return invocation.show(stats(repository))
    filters = MemoryFilter(agent=agent, topic=topic, kind=kind, since=since, min_importance=min_importance)
    if not words:
        return invocation.show(list_memory(repository, filters, limit=limit))
    found = search(repository, " ".join(words), filters)
    return invocation.show(found if limit is None else replace(found, hits=found.hits[:limit]))


def memory_context(
    invocation: Invocation,
    limit: Limit = None,
    agent: OnlyAgent = None,
    max_characters: Annotated[int, option("--max-chars N", "Its size at most")] = MAX_CHARACTERS,
) -> int:
    """Print the memory as context for an agent.

    The newest entries (10, or -n), oldest first, each whole or not at all, between two lines with a random mark as
    recorded data, not instructions.

    Examples:
      scopes memory context
      scopes memory context --agent codex -n 5
    """
    result = run_context(
        invocation.repository(),
        max_characters=max_characters,
        limit=LIMIT if limit is None else limit,
        agent=agent,
        secrets=invocation.secrets,
    )
    return invocation.show(result)


def memory_actions(
    invocation: Invocation, include_done: Annotated[bool, option("-a, --all", "Also done ones")] = False
) -> int:
    """List what is still to do.

    Examples:
      scopes memory actions
      scopes memory actions -a --json
    """
    return invocation.show(list_actions(invocation.repository(), include_done=include_done))


def memory_done(
    invocation: Invocation,
    actions: Annotated[list[str], argument("ACTION...", "The action items: their ids, as in memory actions")],
) -> int:
    """Mark action items as done.

    Examples:
      scopes memory done k3x9.1
      scopes memory done k3x9.1 k3x9.2
    """
    repository, code = invocation.repository(), 0
    for action in actions if len(actions) > 1 else ():
        done(repository, action, dry_run=True)  # all of them are there, or none is closed
    for action in actions:
        code = invocation.show(done(repository, action, dry_run=invocation.dry_run))
    return code


def memory_prune(
    invocation: Invocation,
    older_than: Annotated[Text, option("--older-than WHEN", "Delete older ones: '90 days'")] = None,
    max_entries: Annotated[int | None, option("--max N", "Delete all but the newest N")] = None,
    keep_importance: Annotated[
        int | None, option("--keep-importance N", "Keep those of at least this importance")
    ] = None,
) -> int:
    """Delete old memory entries, but no conversation.

    Examples:
      scopes memory prune --older-than '1 year' --keep-importance 8 --dry-run
      scopes memory prune --max 500
    """
    result = prune(
        invocation.repository(),
        older_than=older_than,
        max_entries=max_entries,
        keep_importance=keep_importance,
        dry_run=invocation.dry_run,
    )
    return invocation.show(result)
