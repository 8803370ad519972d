"""Format memory and summaries as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.fields import utc

if TYPE_CHECKING:
    from scopes.memory.actions import ActionDone, ActionList
    from scopes.memory.add import MemoryAdded
    from scopes.memory.context import MemoryContext
    from scopes.memory.entry import MemoryEntry
    from scopes.memory.list import MemoryList, MemoryView
    from scopes.memory.prune import MemoryPruned
    from scopes.memory.search import MemoryHits
    from scopes.memory.stats import MemoryStats
    from scopes.memory.summaries import SummaryList, SummaryRow
    from scopes.memory.summarize import Summarized
    from scopes.memory.uncompact import Uncompacted
    from scopes.memory.update import MemoryUpdated


@to_wire.register
def format_memory_updated(result: MemoryUpdated) -> dict[str, object]:
    """Return the new entries and the number of branches with too little new text."""
    entries = [_entry(entry) for entry in result.entries]
    return without_none(
        kind="memory-update",
        entries=entries,
        waiting=result.waiting,
        dry_run=result.dry_run or None,
        operation=result.operation,
    )


@to_wire.register
def format_memory_added(result: MemoryAdded) -> dict[str, object]:
    """Return the new entry."""
    dry_run = None if result.operation else True
    return without_none(kind="memory-entry", **_entry(result.entry), dry_run=dry_run, operation=result.operation)


@to_wire.register
def format_memory_list(result: MemoryList) -> dict[str, object]:
    """Return the entries, newest first."""
    return {"kind": "memory-list", "entries": [_entry(entry) for entry in result.entries]}


@to_wire.register
def format_memory_view(result: MemoryView) -> dict[str, object]:
    """Return one entry."""
    return {"kind": "memory-entry", **_entry(result.entry)}


@to_wire.register
def format_memory_hits(result: MemoryHits) -> dict[str, object]:
    """Return the entries found, best first."""
    hits = [{"score": hit.score, "fields": list(hit.fields), "entry": _entry(hit.entry)} for hit in result.hits]
    return {"kind": "memory-search", "query": result.query, "hits": hits}


@to_wire.register
def format_memory_context(result: MemoryContext) -> dict[str, object]:
    """Return the text and the entries in it."""
    return {
        "kind": "memory-context",
        "text": result.text,
        "characters": len(result.text),
        "max_characters": result.max_characters,
        "entries": list(result.entries),
        "omitted": result.omitted,
    }


@to_wire.register
def format_memory_stats(result: MemoryStats) -> dict[str, object]:
    """Return the counts; times are absent if there are no entries."""
    return without_none(
        kind="memory-stats",
        total=result.total,
        this_week=result.this_week,
        open_actions=result.open_actions,
        agents=dict(result.agents),
        oldest=utc(result.oldest),
        newest=utc(result.newest),
    )


@to_wire.register
def format_action_list(result: ActionList) -> dict[str, object]:
    """Return the action items, each with the id of its entry."""
    actions = [row.item._asdict() | {"entry": row.entry.id, "agent": row.entry.agent} for row in result.actions]
    return {"kind": "memory-actions", "actions": actions}


@to_wire.register
def format_action_done(result: ActionDone) -> dict[str, object]:
    """Return the closed action item; without an operation it was closed before."""
    return without_none(
        kind="memory-action", **result.item._asdict(), dry_run=result.dry_run or None, operation=result.operation
    )


@to_wire.register
def format_memory_pruned(result: MemoryPruned) -> dict[str, object]:
    """Return the ids of the removed entries, newest first."""
    return without_none(
        kind="memory-prune",
        removed=[entry.id for entry in result.entries],
        remaining=result.remaining,
        dry_run=result.dry_run,
        operation=result.operation,
    )


@to_wire.register
def format_summarized(result: Summarized) -> dict[str, object]:
    """Return a summary; id and oid are absent if it was not stored."""
    return without_none(
        kind="summary",
        id=result.id,
        oid=result.oid,
        conversation=result.conversation,
        branch=result.branch,
        text=result.text,
        messages=result.messages,
        earlier=result.earlier,
        original_tokens=result.original_tokens,
        summary_tokens=result.summary_tokens,
        counted=result.counted,
        ratio=result.ratio,
        method=result.method,
        context_root=result.compact,
        operation=result.operation,
    )


@to_wire.register
def format_uncompacted(result: Uncompacted) -> dict[str, object]:
    """Return the removed compactions and where contexts start now."""
    return without_none(
        kind="uncompact",
        conversation=result.conversation,
        branch=result.branch,
        compactions=[head.document() for head in result.compactions],
        remaining=result.remaining,
        dry_run=result.dry_run or None,
        operation=result.operation,
    )


@to_wire.register
def format_summary_list(result: SummaryList) -> dict[str, object]:
    """Return the summaries of a branch, newest first."""
    return {
        "kind": "summary-list",
        "conversation": result.conversation,
        "branch": result.branch,
        "summaries": [_row(row) for row in result.summaries],
        "uncovered_messages": result.uncovered,
    }


def _entry(entry: MemoryEntry) -> dict[str, object]:
    sources = without_none(messages=list(entry.sources.messages), tip=entry.sources.tip)
    return without_none(
        id=entry.id,
        agent=entry.agent,
        conversation=entry.conversation,
        uuid=entry.uuid,
        branch=entry.branch,
        directory=entry.directory,
        summary=entry.summary,
        topics=list(entry.topics),
        decisions=list(entry.decisions),
        action_items=[item._asdict() for item in entry.action_items],
        timestamp=utc(entry.time),
        importance=entry.importance,
        sources=sources,
        method=entry.method,
        withdrawn=list(entry.withdrawn) or None,
    )


def _row(row: SummaryRow) -> dict[str, object]:
    return {
        "message": row.head.document(),
        "method": row.method,
        "messages": row.messages,
        "stale": row.stale,
        "newer_messages": row.newer,
        "changed": list(row.changed),
    }
