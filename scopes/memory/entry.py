"""The memory entry: a summary with topics, decisions and action items, and its JSON form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scopes.clock import Time, parse_time
from scopes.errors import Corrupt, Invalid
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model import canonical_json
from scopes.result import HIDDEN, OMIT_EMPTY, named

FORMAT_VERSION = 1
_NAMES = ("conversation", "uuid", "branch", "directory", "method")
MIN_IMPORTANCE, MAX_IMPORTANCE, DEFAULT_IMPORTANCE = 1, 10, 3  # importance


class ActionItem(NamedTuple):
    """Something to do; its id is `<entry id>.<number>`."""

    id: str
    text: str
    done: bool = False


class Sources(NamedTuple):
    """The messages that an entry was made from, and the branch tip at that time."""

    messages: tuple[MessageId, ...] = ()
    tip: Oid | None = None


class EntryScope(NamedTuple):
    """The branch that an entry is made from: its conversation, the conversation's uuid, and the tip."""

    conversation: ConversationId
    branch: BranchName
    uuid: str
    tip: Oid


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """A memory entry. One that was added by hand has no conversation, uuid, branch, sources or method.

    directory: where it was added by hand; it decides which project it belongs to.
    importance: 1 (trivial) to 10 (critical).
    method: how the summary was made: `textrank`, or `command` for the user's summarizer.
    extra: unknown fields of the stored JSON, which are kept.
    withdrawn: the sources that were amended or retracted later; computed when an entry is read, never stored.
    """

    id: MessageId
    agent: AgentName
    conversation: ConversationId | None = None
    uuid: str | None = None
    branch: BranchName | None = None
    directory: str | None = None
    summary: str
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    action_items: tuple[ActionItem, ...] = ()
    time: Time = field(metadata=named("timestamp"))
    importance: int = DEFAULT_IMPORTANCE
    sources: Sources = field(default_factory=Sources)
    method: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)
    withdrawn: tuple[MessageId, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def place(self) -> str:
        """The conversation and branch that it was made from; empty if it was added by hand."""
        return "" if self.conversation is None else f"{self.conversation}/{self.branch}"

    @property
    def age_key(self) -> tuple[int, str]:
        """Sort key by time, in nanoseconds since 1970, then id: newer entries are greater."""
        return parse_time(self.time) or 0, self.id


def check_importance(importance: int) -> int:
    """Return the importance if it is from 1 to 10 (S0-13).

    Raises:
        Invalid: it is out of range.
    """
    if not MIN_IMPORTANCE <= importance <= MAX_IMPORTANCE:
        raise Invalid(
            f"invalid importance {importance}: must be from {MIN_IMPORTANCE} to {MAX_IMPORTANCE}",
            hint=f"{MIN_IMPORTANCE} is trivial, {MAX_IMPORTANCE} is critical",
        )
    return importance


def encode_entry(entry: MemoryEntry) -> bytes:
    """Encode an entry as indented JSON, readable with `git show`."""
    known = {
        "conversation": entry.conversation,
        "uuid": entry.uuid,
        "branch": entry.branch,
        "directory": entry.directory,
    }
    document: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "id": entry.id,
        "agent": entry.agent,
        **{name: value for name, value in known.items() if value is not None},
        "summary": entry.summary,
        "topics": list(entry.topics),
        "decisions": list(entry.decisions),
        "action_items": [item._asdict() for item in entry.action_items],
        "timestamp": entry.time,
        "importance": entry.importance,
        "sources": {"messages": list(entry.sources.messages), **({"tip": tip} if (tip := entry.sources.tip) else {})},
        **({} if entry.method is None else {"method": entry.method}),
        **entry.extra,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return (text + "\n").encode("utf-8", "backslashreplace")


def decode_entry(data: bytes) -> MemoryEntry:
    """Decode an entry; missing lists are empty, an importance out of range is clamped (S0-13, S0-14).

    Raises:
        Corrupt: the data is not JSON, or a required field is missing.
    """
    document: Any = canonical_json.load(data)
    texts = ("id", "agent", "summary", "timestamp")
    if not isinstance(document, dict) or not all(isinstance(document.get(name), str) for name in texts):
        raise Corrupt("a memory entry is damaged", hint="see: scopes verify")
    extra: dict[str, Any] = document
    extra.pop("v", None)
    identity, agent, summary, time = (extra.pop(name) for name in texts)
    names = {key: extra.pop(key) for key in _NAMES if isinstance(extra.get(key), str)}
    importance = extra.pop("importance", DEFAULT_IMPORTANCE)
    return MemoryEntry(
        id=identity,
        agent=agent,
        summary=summary,
        time=time,
        importance=min(max(importance, MIN_IMPORTANCE), MAX_IMPORTANCE)
        if isinstance(importance, int)
        else DEFAULT_IMPORTANCE,
        topics=_texts(extra.pop("topics", None)),
        decisions=_texts(extra.pop("decisions", None)),
        action_items=_items(extra.pop("action_items", None), identity),
        sources=_sources(extra.pop("sources", None)),
        extra=extra,
        **names,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _items(value: object, entry: str) -> tuple[ActionItem, ...]:
    """Decode action items; one whose id does not start with the entry's id gets a new id by its position."""
    found: list[ActionItem] = []
    for item in value if isinstance(value, list) else ():
        match item:
            case {"id": str(identity), "text": str(text), **rest}:
                item_id = identity if identity.startswith(f"{entry}.") else f"{entry}.{len(found) + 1}"
                found.append(ActionItem(item_id, text, rest.get("done") is True))
    return tuple(found)


def _sources(value: object) -> Sources:
    match value:
        case {"messages": list(messages), **rest}:
            tip = rest.get("tip")
            return Sources(tuple(map(MessageId, _texts(messages))), Oid(tip) if isinstance(tip, str) else None)
    return Sources()
