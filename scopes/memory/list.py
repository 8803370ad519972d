"""`memory list` without words, and `show` of an entry: all entries, newest first, or one of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice

from scopes.errors import check_not_negative
from scopes.memory.current_entries import walk_current_entries
from scopes.memory.entry import MemoryEntry
from scopes.memory.search import MemoryFilter, check_filter, has_kind, passes
from scopes.memory.store import Memory
from scopes.result import Result
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList(Result):
    """Entries, newest first."""

    entries: tuple[MemoryEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView(Result):
    """One entry."""

    entry: MemoryEntry


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
