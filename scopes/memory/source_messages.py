"""The messages that a summary or a memory entry is made from, with amendments and retractions applied.

Tool results, system texts, notices and earlier summaries are not among them. Neither is what was purged, so that what
was made after a purge does not name it: what does has its content, and goes with it (`purge/links`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from scopes.history.activity import SILENT, SUMMARIES
from scopes.history.messages import (
    STATE_DIRECTORY,
    MessageHeader,
    headers_of,
    is_retracted,
    read_body,
    read_message,
    walk_headers_newest_first,
    walk_headers_oldest_first,
)
from scopes.ids import MessageId, Oid, is_oid
from scopes.model.message import Message, Part, is_purged
from scopes.model.tools import STEP_LISTS, STEP_TEXTS
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import find_entry, read_commit, walk_blobs
from scopes.store.repository import Repository

_AMENDED_DIRECTORY = f"{STATE_DIRECTORY}/messages"
_STEP_TEXTS = (*STEP_TEXTS, "title")
_DONE = frozenset({"completed", "done", "cancelled"})


class SourceMessage(NamedTuple):
    """A message with text, a payload or a to-do list."""

    head: MessageHeader
    message: Message

    @property
    def text(self) -> str:
        """The message's text; of a typed message without text its payload, one field a line."""
        if self.message.text.strip() or not self.message.payload:
            return self.message.text
        return self.decision or "\n".join(f"- {name}: {_as_line(v)}" for name, v in self.message.payload.items())

    @property
    def decision(self) -> str | None:
        """`topic: decision` of a typed decision; None for other messages."""
        return None if self.topic is None else f"{self.topic}: {(self.message.payload or {})['decision']}"

    @property
    def topic(self) -> str | None:
        """The topic of a typed decision; None for other messages."""
        match self.message.kind, self.message.payload:
            case "decision", {"topic": topic, "decision": _}:
                return str(topic)
        return None


class SourceMessages(Protocol):
    """Source messages in order, a list of them or compressed ones (`packed_messages`)."""

    def __len__(self) -> int:
        """Return the number of messages."""

    def __iter__(self) -> Iterator[SourceMessage]:
        """Yield the messages, oldest first."""

    def __reversed__(self) -> Iterator[SourceMessage]:
        """Yield the messages, newest first."""


def _as_line(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return " ".join(text.split())


def read_source_messages(
    repository: Repository,
    heads: Iterable[MessageHeader],
    on_message: Callable[[Message], None] = lambda _message: None,
) -> list[SourceMessage]:
    """Read the source messages among `heads`, in order; amendments and retractions among them are applied.

    `on_message` is called with every message, also with those that are not sources.
    """
    replaced: set[MessageId] = set()
    sources = list(walk_source_messages(repository, heads, replaced, on_message))
    return [source for source in sources if source.head.id not in replaced]


def walk_source_messages(
    repository: Repository,
    heads: Iterable[MessageHeader],
    replaced: set[MessageId],
    on_message: Callable[[Message], None] = lambda _message: None,
) -> Iterator[SourceMessage]:
    """Yield what `read_source_messages` returns and the messages that later ones replace; these are put in `replaced`.

    Which messages are replaced is known only at the end.
    """
    yielded: set[MessageId] = set()
    for head in heads:
        message = read_body(repository, head)
        on_message(message)
        replaced.update(yielded.intersection(MessageId(i) for i in (message.amends, message.retracts) if i is not None))
        if _is_source(message):
            yielded.add(head.id)
            yield SourceMessage(head, _without_calls(message))


def _is_source(message: Message) -> bool:
    if message.kind in SILENT or message.author.kind == "injected" or message.retracts is not None:
        return False
    if is_purged(message):
        return False
    return bool(message.text.strip()) or message.payload is not None or find_todo_list(message) is not None


def _without_calls(message: Message) -> Message:
    """Return a message without the parts that no summary reads: there may be very many messages."""
    kept = tuple(part for part in message.parts if part.type == "text" or _may_have_steps(part))
    return message if len(kept) == len(message.parts) else replace(message, parts=kept)


def _may_have_steps(part: Part) -> bool:
    return part.type == "tool_call" and next(_walk_steps(part.fields.get("input")), None) is not None


def find_todo_list(message: Message) -> dict[str, bool] | None:
    """Return the steps of the last to-do list in a message's tool calls, and whether each is done; None without a list.

    A to-do list is recognized by its shape, not by the tool's name: a list in `todos` or `plan` whose items have a text
    and a status. Agents write the whole list at every change.
    """
    found = None
    for part in message.parts:
        if part.type == "tool_call":
            steps = dict(_walk_steps(part.fields.get("input")))
            found = steps or found
    return found


def _walk_steps(tool_input: object) -> Iterator[tuple[str, bool]]:
    if isinstance(tool_input, str) and any(f'"{name}"' in tool_input for name in STEP_LISTS):
        try:
            tool_input = json.loads(tool_input)
        except (ValueError, RecursionError):
            return
    if not isinstance(tool_input, Mapping):
        return
    steps = next((tool_input[name] for name in STEP_LISTS if isinstance(tool_input.get(name), list | tuple)), ())
    for step in steps:
        if isinstance(step, Mapping) and isinstance(step.get("status"), str):
            text = next((step[name] for name in _STEP_TEXTS if isinstance(step.get(name), str)), "")
            if text.strip():
                yield " ".join(text.split()), step["status"].lower() in _DONE


def headers_since_summary(repository: Repository, tip: Oid) -> list[MessageHeader]:
    """List the messages since the last summary or compaction, oldest first; all messages if there is none.

    Messages that were appended while the summary was written precede it but are not in it: they count as new. A
    retracted summary covers nothing.
    """
    heads = walk_headers_newest_first(repository, [tip])
    summaries = (head for head in heads if head.kind in SUMMARIES)
    last = next((head.oid for head in summaries if not is_retracted(repository, tip, head.id)), None)
    return headers_beyond(repository, tip, () if last is None else (_covered_tip(repository, last),))


def _covered_tip(repository: Repository, summary: Oid) -> Oid:
    """Return the branch tip that a summary was made from; the summary itself if a rebase left that behind."""
    match read_message(repository, summary).extra.get("summarizes"):
        case {"tip": str(tip)} if is_oid(tip) and repository.has(Oid(tip)):
            return Oid(tip) if is_ancestor(repository, Oid(tip), summary) else summary
    return summary


def headers_beyond(repository: Repository, tip: Oid, known: Iterable[Oid]) -> list[MessageHeader]:
    """List the messages of a branch that none of the known commits reaches, oldest first."""
    starts = list(known)
    hidden = frozenset(commit.oid for commit in walk_newest_first(repository, starts)) if starts else frozenset()
    return list(walk_headers_oldest_first(repository, [tip], hidden))


def walk_headers_beyond(repository: Repository, tip: Oid, known: Iterable[Oid]) -> Iterator[MessageHeader]:
    """Yield what `headers_beyond` lists, with only the ids of all commits in memory at once."""
    starts = list(known)
    hidden = frozenset(commit.oid for commit in walk_newest_first(repository, starts)) if starts else frozenset()
    oids = [commit.oid for commit in walk_newest_first(repository, [tip], hidden)]
    yield from headers_of(read_commit(repository, oid) for oid in reversed(oids))


def read_amended(repository: Repository, tip: Oid) -> set[str]:
    """Return the messages that were amended or retracted on a branch, as `leaf("messages", id)` paths."""
    state = find_entry(repository, read_commit(repository, tip).tree, _AMENDED_DIRECTORY)
    return set() if state is None else {path for path, _ in walk_blobs(repository, state.oid, "messages/")}


def source_ids(summarizes: object) -> list[MessageId]:
    """Return the source messages in a summary's `summarizes` field; none if it has another shape."""
    match summarizes:
        case {"messages": list(messages)}:
            return [MessageId(source) for source in messages if isinstance(source, str)]
    return []
