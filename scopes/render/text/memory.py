"""Render memory: entries, search hits, action items, and the text given to an agent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scopes.clock import in_seconds
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    SHORT_ID_LENGTH,
    WIDE,
    counted,
    full_time,
    identifier,
    short_time,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.memory.actions import ActionDone, ActionList, ActionRow
    from scopes.memory.add import MemoryAdded
    from scopes.memory.context import MemoryContext
    from scopes.memory.entry import MemoryEntry
    from scopes.memory.list import MemoryList, MemoryView
    from scopes.memory.prune import MemoryPruned
    from scopes.memory.search import MemoryHit, MemoryHits
    from scopes.memory.stats import MemoryStats
    from scopes.memory.update import MemoryUpdated

_ENTRY = (
    Column("ID"),
    Column("Agent", "agent", flexible=True),
    Column("Importance"),
    Column("Time"),
    Column("Summary", flexible=True),
    Column("Conversation", hidden=True),
    Column("Branch", hidden=True),
)
_HIT = (*_ENTRY, Column("Found in"), Column("Score", hidden=True))
_ACTION = (
    Column("ID"),
    Column("State"),
    Column("Action", flexible=True),
    Column("Agent", "agent", flexible=True),
    Column("Time"),
)
_ROOM = 72  # on narrower terminals ids would be truncated
_OPTIONAL_COLUMNS = frozenset({"Importance", "Time"})
_COLUMNS_OF_WIDE = frozenset({"Found in"})  # leave room for the summary on a terminal of 80 columns
_UNDO = "undo with: scopes undo"
_STATS = (Column("Name"), Column("Value"))


@render_text.register
def render_memory_updated(result: MemoryUpdated, view: View) -> None:
    """Write the new entries; in a pipe only their ids."""
    for entry in result.entries:
        if view.terminal:
            view.line(
                "would add " if result.dry_run else "added ",
                *_branch_of(entry),
                *(() if result.dry_run else (" as ", identifier(view, entry.id))),
            )
            view.body(entry.summary, indent=4)
        else:
            view.line(entry.summary if result.dry_run else entry.id)
    if not view.terminal:
        return
    if not result.entries:
        view.line("Nothing to add.")
    if result.waiting:
        verb, pronoun = ("has", "it") if result.waiting == 1 else ("have", "them")
        few = f"{counted(result.waiting, 'branch')} {verb} too few new messages"
        write_hint(view, f"{few}; include {pronoun} with --now")
    if result.operation is not None:
        write_hint(view, _UNDO)


@render_text.register
def render_memory_added(result: MemoryAdded, view: View) -> None:
    """Write the id of the new entry."""
    if result.operation is None:
        view.sentence("would add: ", result.entry.summary)
        return
    name = identifier(view, result.entry.id)
    write_outcome(view, name, "added ", name, operation=result.operation)


@render_text.register
def render_memory_list(result: MemoryList, view: View) -> None:
    """Write the entries, newest first."""
    if result.entries or not view.terminal:
        view.rows(_columns_for(_ENTRY, view), (_row(entry, view) for entry in result.entries), title="Memory")
    else:
        view.line("Nothing is remembered.")
        write_hint(view, "create entries: scopes memory update")


@render_text.register
def render_memory_view(result: MemoryView, view: View) -> None:
    """Write one entry with all its fields."""
    entry = result.entry
    view.line("entry ", Span(entry.id, "id"))
    write_field(view, "Agent", Span(entry.agent, "agent"))
    if entry.conversation is not None:
        write_field(view, "Branch", *_branch_of(entry))
    write_field(view, "Date", full_time(view, entry.time))
    write_field(view, "Importance", str(entry.importance))
    if entry.topics:
        write_field(view, "Topics", ", ".join(entry.topics))
    view.body("\n" + entry.summary, indent=4)
    for decision in entry.decisions:
        write_field(view, "Decided", decision)
    for item in entry.action_items:
        write_field(view, "Done" if item.done else "To do", item.text, " ", Span(_action_id(item.id, view), "dim"))
    if entry.withdrawn:
        number = counted(len(entry.withdrawn), "message")
        write_field(view, "Left out", Span(f"{number} amended or retracted since", "warn"))
    if entry.sources.messages:
        write_field(view, "Sources", counted(len(entry.sources.messages), "message"))


@render_text.register
def render_memory_hits(result: MemoryHits, view: View) -> None:
    """Write the entries found, best first."""
    if result.hits or not view.terminal:
        view.rows(_columns_for(_HIT, view), (_hit_row(hit, view) for hit in result.hits), title="Found in the memory")
    else:
        view.line("Nothing in the memory matches ", result.query, ".")


@render_text.register
def render_memory_context(result: MemoryContext, view: View) -> None:
    """Write the text given to an agent, byte for byte in a pipe."""
    if view.terminal:
        view.body(result.text)
    else:
        view.exact(result.text)


@render_text.register
def render_memory_stats(result: MemoryStats, view: View) -> None:
    """Write the number of entries, per agent, and their oldest and newest time; in a pipe one row each, as `stats`."""
    if not view.terminal:
        counts = {"entries": result.total, "this_week": result.this_week, "open_actions": result.open_actions}
        known = {"oldest": result.oldest, "newest": result.newest}
        times = {name: in_seconds(time) for name, time in known.items() if time is not None}
        agents = {f"agents.{agent}": count for agent, count in result.agents.items()}
        rows = (counts | times | agents).items()
        view.rows(_STATS, ((name, str(value)) for name, value in rows))
        return
    write_field(view, "Entries", f"{result.total:,}")
    write_field(view, "This week", f"{result.this_week:,}")
    write_field(view, "Left to do", f"{result.open_actions:,}")
    for name, time in (("Oldest", result.oldest), ("Newest", result.newest)):
        if time is not None:
            write_field(view, name, full_time(view, time))
    if result.agents:
        columns = (Column("Agent", "agent", flexible=True), Column("Entries"))
        view.rows(columns, ((agent, str(count)) for agent, count in result.agents.items()), title="By agent")


@render_text.register
def render_action_list(result: ActionList, view: View) -> None:
    """Write the action items."""
    if result.actions or not view.terminal:
        view.rows(_columns_for(_ACTION, view), (_action_row(row, view) for row in result.actions), title="To do")
    else:
        view.line("Nothing is left to do.")


@render_text.register
def render_action_done(result: ActionDone, view: View) -> None:
    """Write the action item that was closed."""
    name = Span(_action_id(result.item.id, view), "id")
    made = "would be done: " if result.dry_run else "already done: "
    before = "done: " if result.operation is not None else made
    write_outcome(view, name, before, result.item.text, operation=result.operation)


@render_text.register
def render_memory_pruned(result: MemoryPruned, view: View) -> None:
    """Write how many entries were removed; in a pipe their ids."""
    if not view.terminal:
        for entry in result.entries:
            view.line(entry.id)
        return
    verb = "would delete" if result.dry_run else "deleted"
    view.line(f"{verb} {len(result.entries):,} of {len(result.entries) + result.remaining:,} entries")
    if result.operation is not None:
        write_hint(view, _UNDO)


def _columns_for(columns: tuple[Column, ...], view: View) -> tuple[Column, ...]:
    """Hide optional columns on a narrow terminal, where ids or summaries would be truncated otherwise."""
    if not view.terminal:
        return columns
    hidden = (_COLUMNS_OF_WIDE if view.width < WIDE else frozenset()) | (
        _OPTIONAL_COLUMNS if view.width < _ROOM else frozenset()
    )
    return tuple(replace(each, hidden=True) if each.name in hidden else each for each in columns)


def _branch_of(entry: MemoryEntry) -> tuple[Span, ...]:
    return (Span(f"{entry.conversation}/{entry.branch}", "branch"),)


def _row(entry: MemoryEntry, view: View) -> tuple[Cell, ...]:
    return (
        identifier(view, entry.id),
        entry.agent,
        str(entry.importance),
        short_time(view, entry.time),
        entry.summary,
        entry.conversation or "",
        entry.branch or "",
    )


def _hit_row(hit: MemoryHit, view: View) -> tuple[Cell, ...]:
    return (*_row(hit.entry, view), ", ".join(hit.fields), str(hit.score))


def _action_row(row: ActionRow, view: View) -> tuple[Cell, ...]:
    state = "done" if row.item.done else "open"
    time = short_time(view, row.entry.time)
    return Span(_action_id(row.item.id, view), "id"), state, row.item.text, row.entry.agent, time


def _action_id(action: str, view: View) -> str:
    """Return the id of an action item, on a terminal abbreviated to a form that `memory done` accepts."""
    entry, dot, number = action.rpartition(".")
    return f"{entry[:SHORT_ID_LENGTH]}{dot}{number}" if view.terminal else action
