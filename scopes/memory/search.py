"""`memory search`: find entries by words in any of their texts (S0-15).

Every word of the query must occur in an entry, in upper or lower case, also inside other words. A word found counts
once a field: 4 for a topic, 3 for a decision, 2 for the summary or a thing to do, 1 for the agent or the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass

from scopes.clock import now_nanoseconds
from scopes.errors import Invalid
from scopes.history.dates import parse_moment
from scopes.memory.current_entries import walk_current_entries
from scopes.memory.entry import Entry, check_importance
from scopes.memory.store import Memory
from scopes.result import Result
from scopes.store.repository import Repository

KINDS = ("decision", "action", "summary")
_WEIGHTS = {"topic": 4, "decision": 3, "summary": 2, "action": 2, "agent": 1, "conversation": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """An entry that was found, how well it fits, and in which of its fields."""

    entry: Entry
    score: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHits(Result):
    """What was found, the best first; equally good ones by importance, then the newest first."""

    query: str
    hits: tuple[MemoryHit, ...]

    @property
    def exit_code(self) -> int:
        """As grep: 1 where nothing was found."""
        return 0 if self.hits else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which entries are looked through; `kind` names the one field that is."""

    agent: str | None = None
    topic: str | None = None
    kind: str | None = None
    since: str | None = None
    min_importance: int | None = None


def search(repository: Repository, query: str, only: MemoryFilter | None = None) -> MemoryHits:
    """Search the memory.

    Raises:
        Invalid: the query has no word, or the kind, the moment or the importance means nothing.
    """
    wanted = only or MemoryFilter()
    words = tuple(dict.fromkeys(query.casefold().split()))
    if not words:
        raise Invalid("the query is empty", hint="all of it: scopes memory list")
    if wanted.kind is not None and wanted.kind not in KINDS:
        raise Invalid(f"{wanted.kind!a} is no kind of memory", hint="kinds: " + ", ".join(KINDS))
    if wanted.min_importance is not None:
        check_importance(wanted.min_importance)
    since = None if wanted.since is None else parse_moment(wanted.since, now_nanoseconds())
    memory = Memory(repository)
    entries = [e for e in memory.entries if _fits(e, wanted, since) and _match(e, words, wanted.kind) is not None]
    told = (e for e in walk_current_entries(repository, entries) if _fits(e, wanted, since))
    hits = [hit for hit in (_match(entry, words, wanted.kind) for entry in told) if hit is not None]
    hits.sort(key=lambda hit: (-hit.score, -hit.entry.importance))  # stable: entries come newest first
    return MemoryHits(query=query, hits=tuple(hits), notes=memory.notes)


def _fits(entry: Entry, wanted: MemoryFilter, since: int | None) -> bool:
    topic = None if wanted.topic is None else wanted.topic.casefold()
    return (
        wanted.agent in (None, entry.agent)
        and (topic is None or topic in map(str.casefold, entry.topics))
        and (since is None or entry.age_key[0] >= since)
        and (wanted.min_importance is None or entry.importance >= wanted.min_importance)
    )


def _match(entry: Entry, words: tuple[str, ...], kind: str | None) -> MemoryHit | None:
    fields = {name: text.casefold() for name, text in _fields(entry).items() if kind in (None, name)}
    places = [[name for name, text in fields.items() if word in text] for word in words]
    if not all(places):
        return None
    score = sum(_WEIGHTS[name] for found in places for name in found)
    return MemoryHit(entry=entry, score=score, fields=tuple(dict.fromkeys(n for found in places for n in found)))


def _fields(entry: Entry) -> dict[str, str]:
    return {
        "topic": "\n".join(entry.topics),
        "decision": "\n".join(entry.decisions),
        "summary": entry.summary,
        "action": "\n".join(item.text for item in entry.action_items),
        "agent": entry.agent,
        "conversation": f"{entry.conversation or ''}/{entry.branch or ''}",
    }
