"""What was made from a purged message goes with it: the one place that says how a message names what it was made from.

These are amendments, notices that quote what they retract, summaries and compactions, decisions that accept a
candidate, reviews that repeat the values of a proposal, and resolutions and merges that repeat a value of a conflict. A
compaction that an agent wrote names no message: the proof names it, if it has a line of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from scopes.errors import Corrupt, NotFound
from scopes.history.acceptances import ACCEPTS
from scopes.history.quotes import SHORTEST, walk_texts
from scopes.ids import MessageId, Oid
from scopes.merge.divergence import state_of
from scopes.model import encoding
from scopes.model.claims import CONFLICTS
from scopes.model.codec import decode
from scopes.model.conflicts import Conflict, decode_conflict
from scopes.model.message import TYPED_KINDS, Message
from scopes.model.path_encoding import leaf
from scopes.purge.amendments import find_versions, origin_of
from scopes.purge.stored_messages import StoredMessage, walk_stored_messages
from scopes.store.repository import Objects, Repository
from scopes.store.trees import find_blob

_FIELDS: Final = ("amends", "retracts", "summarizes", ACCEPTS, "review", "conflict", "merge")
_MARKS: Final = tuple(f'"{name}"'.encode() for name in _FIELDS)


def list_derived(repository: Repository, is_wanted: Callable[[str], bool]) -> list[MessageId]:
    """Return what was made from some messages, and from that: a message goes in all its versions, undone ones too."""
    finder = _SourceFinder(repository)
    stored = walk_stored_messages(repository)
    return find_versions(((each.head.id, name) for each in stored for name in finder.walk_sources(each)), is_wanted)


class _SourceFinder:
    """Finds the messages from which messages say that they were made; ask for every message, parents first."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._stated: dict[bytes, dict[str, None]] = {}  # typed messages by the values that they state

    def walk_sources(self, stored: StoredMessage) -> Iterator[str]:
        """Yield the messages that one was made from."""
        is_typed = stored.head.kind in TYPED_KINDS
        if not is_typed and not any(mark in stored.data for mark in _MARKS):
            return
        message = decode(stored.data)
        for value in _walk_all_values(message.payload) if is_typed else ():
            self._stated.setdefault(encoding.dump(value), {})[message.id] = None
        origin = origin_of(message)
        if origin is not None:
            yield origin
        match message.extra.get("summarizes"):
            case {"messages": list(names)}:
                yield from (name for name in names if isinstance(name, str))
        match message.extra.get(ACCEPTS), message.extra.get("review"):
            case str(candidate), _:
                yield candidate.partition(".")[0]
            case _, {"proposal": str(proposal), "changes": _}:
                yield proposal
        for document in _walk_resolutions(message):
            record = _find_conflict(self._objects, stored.head.oid, document)
            if record is not None:
                yield from _walk_repeated(record, document, message.text)
            else:  # a merge that nobody was asked about stores no record
                for value in _walk_values(document):
                    yield from self._stated.get(encoding.dump(value), ())


def _walk_resolutions(message: Message) -> Iterator[dict[str, Any]]:
    """Yield what a message says of conflicts: a resolution of one, a merge of all that it resolved."""
    merge = message.extra.get("merge")
    resolved = merge.get("resolved") if isinstance(merge, dict) else None
    for document in (message.extra.get("conflict"), *(resolved if isinstance(resolved, list) else ())):
        if isinstance(document, dict):
            yield document


def _find_conflict(objects: Objects, commit: Oid, document: dict[str, Any]) -> Conflict | None:
    """Return the record of a conflict in the state of the message that resolved it."""
    name = document.get("id")
    try:
        state = state_of(objects, commit) if isinstance(name, str) else None
        data = None if state is None else find_blob(objects, state, leaf(CONFLICTS, str(name)))
        return None if data is None else decode_conflict(data)
    except (Corrupt, NotFound):  # `verify` names it
        return None


def _walk_repeated(record: Conflict, document: dict[str, Any], text: str) -> Iterator[str]:
    """Yield the messages of a conflict whose values a resolution repeats."""
    values = list(_walk_values(document))
    texts = [text, *walk_texts(document)]
    for position in (*record.base, *record.source, *record.target):
        value = position.value
        if position.message is None or value is None:
            continue
        is_text = isinstance(value, str) and len(value) >= SHORTEST
        if value in values or (is_text and any(value in each for each in texts)):
            yield position.message


def _walk_all_values(payload: Mapping[str, Any] | None) -> Iterator[Any]:
    """Yield the fields of a payload, and those of the changes of a proposal."""
    for value in (payload or {}).values():
        yield value
        for change in value if isinstance(value, list) else ():
            yield from change.values() if isinstance(change, dict) else ()


def _walk_values(document: dict[str, Any]) -> Iterator[Any]:
    """Yield the values that a resolution chose or rejected, and others of the same conflict before it."""
    rejected, also = document.get("rejected"), document.get("also")
    yield from rejected if isinstance(rejected, list) else ()
    if "value" in document:
        yield document["value"]
    for other in also if isinstance(also, list) else ():
        if isinstance(other, dict):
            yield from _walk_values(other)
