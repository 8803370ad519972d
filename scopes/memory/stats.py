"""`memory stats`: number of entries, in total and by agent, and their dates (S0-19)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scopes.clock import Time, in_seconds, now_nanoseconds
from scopes.memory.store import Memory
from scopes.result import Column, Result
from scopes.store.repository import Repository

_WEEK_NANOSECONDS = 7 * 86400 * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats(Result):
    """Counts; `oldest` and `newest` are times, None if there are no entries. `this_week` is the last seven days."""

    columns = (
        Column("total", "Entries", "count"),
        Column("this_week", form="count"),
        Column("open_actions", "Left to do", "count"),
        Column("oldest", form="time"),
        Column("newest", form="time"),
        Column("agents", "By agent"),
    )

    total: int
    this_week: int
    open_actions: int
    agents: Mapping[str, int]
    oldest: Time | None
    newest: Time | None

    @property
    def figures(self) -> Mapping[str, object]:
        """The counts."""
        return {
            "entries": self.total,
            "this_week": self.this_week,
            "open_actions": self.open_actions,
            "oldest": self.oldest and in_seconds(self.oldest),
            "newest": self.newest and in_seconds(self.newest),
            "agents": self.agents,
        }


def stats(repository: Repository) -> MemoryStats:
    """Count the entries of the memory."""
    memory = Memory(repository)
    entries = memory.entries
    week = now_nanoseconds() - _WEEK_NANOSECONDS
    agents = Counter(entry.agent for entry in entries)
    return MemoryStats(
        total=len(entries),
        this_week=sum(entry.age_key[0] >= week for entry in entries),
        open_actions=sum(not item.done for entry in entries for item in entry.action_items),
        agents=dict(sorted(agents.items(), key=lambda pair: (-pair[1], pair[0]))),
        oldest=entries[-1].time if entries else None,
        newest=entries[0].time if entries else None,
        notes=memory.notes,
    )
