"""`memory list` and `memory show`: the entries, newest first, and one of them whole."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Invalid
from scopes.memory.entry import Entry
from scopes.memory.registry import choose_entry, read_memory
from scopes.result import Result
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList(Result):
    """Entries, newest first."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView(Result):
    """One entry."""

    entry: Entry


def list_memory(repository: Repository, *, agent: str | None = None, limit: int | None = None) -> MemoryList:
    """List the entries, or those of exactly one agent (S0-16)."""
    if limit is not None and limit < 0:
        raise Invalid(f"the number of entries is {limit}", hint="for example: -n 20")
    memory = read_memory(repository)
    entries = tuple(e for e in memory.entries if agent in (None, e.agent))
    return MemoryList(entries=entries[:limit], notes=memory.notes)


def show_memory(repository: Repository, text: str) -> MemoryView:
    """Show one entry; raises as `choose_entry` does."""
    memory = read_memory(repository)
    return MemoryView(entry=choose_entry(memory.entries, text), notes=memory.notes)
