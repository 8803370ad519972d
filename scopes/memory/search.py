"""`memory list WORD`: find memory entries by words (S0-15).

Every word of the query must occur in an entry, in any case, also inside other words. An entry's score is the sum over
words of the weights of the fields that contain the word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Invalid
from scopes.memory.current_entries import walk_current_entries
from scopes.memory.entry import MemoryEntry, check_importance
from scopes.memory.store import Memory
from scopes.result import Column, Result
from scopes.store.repository import Repository

KINDS = ("decision", "action", "summary")
_WEIGHTS = {"topic": 4, "decision": 3, "summary": 2, "action": 2, "agent": 1, "conversation": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """An entry with its score, and the names of the fields that match."""

    score: int
    fields: tuple[str, ...]
    entry: MemoryEntry

    @property
    def found_in(self) -> str:
        """The fields as text."""
        return ", ".join(self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHits(Result):
    """Hits by score, then importance, then newest first."""

    kind = "memory-search"
    rows_in = "hits"
    columns = (
        Column("entry.id", "ID", "id"),
        Column("entry.agent", form="agent"),
        Column("entry.importance", form="count"),
        Column("entry.timestamp", "Time", "time"),
        Column("entry.summary"),
        Column("entry.conversation", on="template"),
        Column("entry.branch", on="template"),
        Column("found_in"),
        Column("score", on="template"),
    )
    empty = "Nothing in the memory matches."

    query: str
    hits: tuple[MemoryHit, ...]

    @property
    def exit_code(self) -> int:
        """As grep: 1 if nothing was found."""
        return 0 if self.hits else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Conditions on entries; `kind` names the only field that is searched."""

    agent: str | None = None
    topic: str | None = None
    kind: str | None = None
    since: str | None = None
    min_importance: int | None = None


def search(
    repository: Repository, query: str, only: MemoryFilter | None = None, *, clear: Callable[[str], str] = str
) -> MemoryHits:
    """Search the memory.

    clear: returns a text as it is shown; nothing is found by what it hides.

    Raises:
        Invalid: the query has no words, or the kind, the date or the importance is not valid.
    """
    filters = only or MemoryFilter()
    words = tuple(dict.fromkeys(query.casefold().split()))
    if not words:
        raise Invalid("the query is empty", hint="list all entries: scopes memory list")
    since = check_filter(filters)
    memory, kind = Memory(repository), filters.kind
    entries = [e for e in memory.entries if passes(e, filters, since, clear) and _match(e, words, kind, clear)]
    current = (e for e in walk_current_entries(repository, entries) if passes(e, filters, since, clear))
    hits = [hit for hit in (_match(entry, words, kind, clear) for entry in current) if hit is not None]
    hits.sort(key=lambda hit: (-hit.score, -hit.entry.importance))  # stable: entries come newest first
    return MemoryHits(query=query, hits=tuple(hits), notes=memory.notes)


def check_filter(filters: MemoryFilter) -> int | None:
    """Return the time from which a filter wants entries, in nanoseconds since 1970; None: from the first one.

    Raises:
        Invalid: its kind, date or importance is not valid.
    """
    if filters.kind is not None and filters.kind not in KINDS:
        raise Invalid(f"{filters.kind!a} is not a valid kind of memory text", hint="kinds: " + ", ".join(KINDS))
    if filters.min_importance is not None:
        check_importance(filters.min_importance)
    return None if filters.since is None else parse_date(filters.since, now_nanoseconds())


def has_kind(entry: MemoryEntry, kind: str | None) -> bool:
    """Return True if an entry has text of a kind; every entry has if that is None."""
    return kind is None or any(_fields(entry)[kind])


def passes(entry: MemoryEntry, filters: MemoryFilter, since: int | None, clear: Callable[[str], str] = str) -> bool:
    """Return True if an entry meets a filter, but for its kind of text."""
    topic = None if filters.topic is None else filters.topic.casefold()
    return (
        (filters.agent is None or filters.agent == clear(entry.agent))
        and (topic is None or topic in map(str.casefold, map(clear, entry.topics)))
        and (since is None or entry.age_key[0] >= since)
        and (filters.min_importance is None or entry.importance >= filters.min_importance)
    )


def _match(
    entry: MemoryEntry, words: tuple[str, ...], kind: str | None, clear: Callable[[str], str]
) -> MemoryHit | None:
    shown = {name: "\n".join(map(clear, texts)) for name, texts in _fields(entry).items() if kind in (None, name)}
    fields = {name: text.casefold() for name, text in shown.items()}
    fields_by_word = [[name for name, text in fields.items() if word in text] for word in words]
    if not all(fields_by_word):
        return None
    score = sum(_WEIGHTS[name] for names in fields_by_word for name in names)
    return MemoryHit(
        entry=entry, score=score, fields=tuple(dict.fromkeys(n for names in fields_by_word for n in names))
    )


def _fields(entry: MemoryEntry) -> dict[str, tuple[str, ...]]:
    return {
        "topic": entry.topics,
        "decision": entry.decisions,
        "summary": (entry.summary,),
        "action": tuple(item.text for item in entry.action_items),
        "agent": (entry.agent,),
        "conversation": (f"{entry.conversation or ''}/{entry.branch or ''}",),
    }
