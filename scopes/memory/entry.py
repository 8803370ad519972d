"""One thing to remember: what was said in short, about what, what was decided and what is left to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scopes.clock import parse_time
from scopes.errors import Corrupt, Invalid
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model import canonical

FORMAT_VERSION = 1
LEAST, MOST, USUAL = 1, 10, 3  # importance


class ActionItem(NamedTuple):
    """Something to do; its id is its entry's with a number behind it."""

    id: str
    text: str
    done: bool = False


class Sources(NamedTuple):
    """The messages that an entry was made from, and where their branch stood."""

    messages: tuple[MessageId, ...] = ()
    tip: Oid | None = None


class EntryScope(NamedTuple):
    """Of which branch an entry tells, and where that stood."""

    conversation: ConversationId
    branch: BranchName
    uuid: str
    tip: Oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the memory; one that somebody added has no conversation. Importance goes from 1 to 10.

    `method` tells what wrote the summary: textrank, or command for the user's own.
    """

    id: MessageId
    agent: AgentName
    summary: str
    time: str
    importance: int = USUAL
    conversation: ConversationId | None = None
    uuid: str | None = None
    branch: BranchName | None = None
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    action_items: tuple[ActionItem, ...] = ()
    sources: Sources = field(default_factory=Sources)
    method: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    withdrawn: tuple[MessageId, ...] = ()  # of the sources, amended or retracted since; looked up, never stored

    @property
    def age_key(self) -> tuple[int, str]:
        """What entries are ordered by: later ones are greater."""
        return parse_time(self.time) or 0, self.id


def check_importance(importance: int) -> int:
    """Accept a number from 1 to 10 (S0-13).

    Raises:
        Invalid: it is none.
    """
    if not LEAST <= importance <= MOST:
        raise Invalid(f"the importance is {importance}", hint=f"from {LEAST} (trivial) to {MOST} (critical)")
    return importance


def encode_entry(entry: Entry) -> bytes:
    """Write an entry as JSON that people can read with plain git."""
    known = {"conversation": entry.conversation, "uuid": entry.uuid, "branch": entry.branch}
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


def decode_entry(data: bytes) -> Entry:
    """Read an entry; absent lists are empty, an importance out of range is the nearest one in it (S0-13, S0-14).

    Raises:
        Corrupt: it is none.
    """
    document: Any = canonical.load(data)
    texts = ("id", "agent", "summary", "timestamp")
    if not isinstance(document, dict) or not all(isinstance(document.get(name), str) for name in texts):
        raise Corrupt("an entry of the memory is damaged", hint="see: scopes verify")
    rest: dict[str, Any] = document
    rest.pop("v", None)
    identity, agent, summary, time = (rest.pop(name) for name in texts)
    names = {
        key: rest.pop(key) for key in ("conversation", "uuid", "branch", "method") if isinstance(rest.get(key), str)
    }
    importance = rest.pop("importance", USUAL)
    return Entry(
        id=identity,
        agent=agent,
        summary=summary,
        time=time,
        importance=min(max(importance, LEAST), MOST) if isinstance(importance, int) else USUAL,
        topics=_texts(rest.pop("topics", None)),
        decisions=_texts(rest.pop("decisions", None)),
        action_items=_items(rest.pop("action_items", None), identity),
        sources=_sources(rest.pop("sources", None)),
        extra=rest,
        **names,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _items(value: object, entry: str) -> tuple[ActionItem, ...]:
    """Read things to do; one whose id could not be told from another entry's gets one by its place."""
    found: list[ActionItem] = []
    for item in value if isinstance(value, list) else ():
        match item:
            case {"id": str(identity), "text": str(text), **rest}:
                own = identity if identity.startswith(f"{entry}.") else f"{entry}.{len(found) + 1}"
                found.append(ActionItem(own, text, rest.get("done") is True))
    return tuple(found)


def _sources(value: object) -> Sources:
    match value:
        case {"messages": list(messages), **rest}:
            tip = rest.get("tip")
            return Sources(tuple(map(MessageId, _texts(messages))), Oid(tip) if isinstance(tip, str) else None)
    return Sources()
