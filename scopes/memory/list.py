"""`memory list` without words, and `show` of an entry: all entries, newest first, or one of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import islice

from scopes.errors import check_not_negative
from scopes.memory.current_entries import walk_current_entries
from scopes.memory.entry import MemoryEntry
from scopes.memory.search import MemoryFilter, check_filter, has_kind, passes
from scopes.memory.store import Memory
from scopes.result import INLINE, Column, Result, counted, short_id
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList(Result):
    """Entries, newest first."""

    rows_in = "entries"
    columns = (
        Column("id", "ID", "id"),
        Column("agent", form="agent"),
        Column("importance", form="count"),
        Column("timestamp", "Time", "time"),
        Column("summary"),
        Column("conversation", on="template"),
        Column("branch", on="template"),
    )
    empty = "Nothing is remembered."

    entries: tuple[MemoryEntry, ...]

    @property
    def next_step(self) -> str:
        """How entries are made, if there are none."""
        return "" if self.entries else "create entries: scopes memory update"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView(Result):
    """One entry."""

    kind = "memory-entry"
    columns = (
        Column("id", "Entry"),
        Column("agent", form="agent"),
        Column("entry.place", "Branch", "branch"),
        Column("timestamp", "Date", "time"),
        Column("importance", form="count"),
        Column("topics"),
        Column("sources_count", "Sources"),
        Column("left_out", "Left out"),
        Column("summary", form="body"),
        Column("decisions", "Decided", "lines"),
        Column("to_do", "To do", "lines"),
        Column("done", form="lines"),
    )

    entry: MemoryEntry = field(metadata=INLINE)

    @property
    def sources_count(self) -> str:
        """The number of messages that it was made from."""
        return counted(len(self.entry.sources.messages), "message") if self.entry.sources.messages else ""

    @property
    def left_out(self) -> str:
        """How much of what it was made from has changed."""
        withdrawn = len(self.entry.withdrawn)
        return f"{counted(withdrawn, 'message')} amended or retracted since" if withdrawn else ""

    @property
    def to_do(self) -> list[str]:
        """The open action items."""
        return [f"{item.text} {short_id(item.id)}" for item in self.entry.action_items if not item.done]

    @property
    def done(self) -> list[str]:
        """The closed action items."""
        return [f"{item.text} {short_id(item.id)}" for item in self.entry.action_items if item.done]


def list_memory(repository: Repository, only: MemoryFilter | None = None, *, limit: int | None = None) -> MemoryList:
    """List the newest entries that meet a filter; agents are compared exactly (S0-16).

    Raises:
        Invalid: the limit is negative, or as `search`.
    """
    check_not_negative(limit, "number of entries", "for example: -n 20")
    memory = Memory(repository)
    filters = only or MemoryFilter()
    since = check_filter(filters)
    found = (e for e in memory.walk() if passes(e, filters, since) and has_kind(e, filters.kind))
    wanted = islice(found, None if limit is None else min(limit, sys.maxsize))
    return MemoryList(entries=tuple(walk_current_entries(repository, wanted)), notes=memory.notes)


def show_memory(repository: Repository, prefix: str) -> MemoryView:
    """Show the entry whose id starts with a prefix; raises as `Memory.choose` does."""
    memory = Memory(repository)
    (entry,) = walk_current_entries(repository, [memory.choose(prefix)])
    return MemoryView(entry=entry, notes=memory.notes)
