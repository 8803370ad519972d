"""How a message names what it was made from: the one place that says it, for what is stored and for what comes.

These are amendments, notices that quote what they retract, summaries and compactions, decisions that accept a
candidate, reviews that repeat the values of a proposal, and resolutions and merges that repeat a value of a conflict. A
compaction that an agent wrote names no message: the proof of a purge names it, if it has a line of one.

The message itself says it, since a copy of it may be anywhere: a rebase takes it to where its sources are purged. What
is made after a purge has nothing of what was purged, and does not name it. `memory/source_messages` leaves it out, and
a resolution repeats "[purged]".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from scopes.errors import Corrupt, NotFound
from scopes.history.acceptances import ACCEPTS
from scopes.history.quotes import SHORTEST, walk_texts
from scopes.ids import Oid
from scopes.loading import deferred
from scopes.model import encoding
from scopes.model.claims import CONFLICTS
from scopes.model.conflicts import Conflict, decode_conflict
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.model.tombstone import PURGED, PURGED_TEXT, purge_message, quoted_by_retraction
from scopes.store.repository import Objects
from scopes.store.trees import find_blob

if TYPE_CHECKING:
    from scopes.merge.attribution import claim_value
    from scopes.merge.conflict_keys import comparable_key, key_of_path
    from scopes.merge.divergence import state_of
    from scopes.merge.statements import stated_claims
else:  # what has no links of conflicts needs none of them
    claim_value = deferred("scopes.merge.attribution:claim_value")
    comparable_key = deferred("scopes.merge.conflict_keys:comparable_key")
    key_of_path = deferred("scopes.merge.conflict_keys:key_of_path")
    state_of = deferred("scopes.merge.divergence:state_of")
    stated_claims = deferred("scopes.merge.statements:stated_claims")

_FIELDS: Final = ("amends", "retracts", "summarizes", ACCEPTS, "review", "conflict", "merge")
_MARKS: Final = tuple(f'"{name}"'.encode() for name in _FIELDS)
_PURGED_MARK: Final = f'"{PURGED}"'.encode()


def has_marks(data: bytes) -> bool:
    """Return False if the bytes of a message name no other one from which it was made."""
    return any(mark in data for mark in _MARKS)


def is_tombstone(data: bytes) -> bool:
    """Return True if the bytes of a message are what a purge of all of it leaves."""
    return _PURGED_MARK in data and purge_message(data) == data


def walk_origins(objects: Objects, commit: Oid, message: Message) -> Iterator[str]:
    """Yield the messages from which the message of a commit says that it was made, each once."""
    yield from dict.fromkeys(_walk_origins(objects, commit, message))


def _walk_origins(objects: Objects, commit: Oid, message: Message) -> Iterator[str]:
    origin = origin_of(message)
    if origin is not None:
        yield origin
    match message.extra.get(ACCEPTS), message.extra.get("review"):
        case str(candidate), _:
            yield candidate.partition(".")[0]
        case _, {"proposal": str(proposal), "changes": _}:
            yield proposal
    match message.extra.get("summarizes"):
        case {"messages": list(names)}:
            yield from (name for name in names if isinstance(name, str))
    for document in _walk_resolutions(message):
        record = _find_conflict(objects, commit, document)
        if record is not None:
            yield from _walk_repeated(record, document, message.text)


def walk_unrecorded_values(objects: Objects, commit: Oid, message: Message) -> Iterator[tuple[str, bytes]]:
    """Yield the values that a merge which nobody was asked about chose or rejected: it stores no record of them."""
    for document in _walk_resolutions(message):
        key = document.get("key")
        if isinstance(key, str) and _find_conflict(objects, commit, document) is None:
            for value in _walk_values(document):
                yield comparable_key(key), encoding.dump(value)


def list_values(message: Message) -> list[tuple[str, bytes]]:
    """Return what a typed message states, by the key that a merge has for it."""
    claims = ((key_of_path(path), encoding.load(claim)) for path, claim in stated_claims(message).items())
    return [(comparable_key(key), encoding.dump(claim_value(key, claim))) for key, claim in claims]


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
    positions = [*record.base, *record.source, *record.target]
    is_older = bool(list_older_values([each.value for each in positions], document))
    values = list(_walk_values(document))
    texts = [text, *walk_texts(document)]
    for position in positions:
        value = position.value
        if position.message is None or value is None:
            continue
        is_text = isinstance(value, str) and len(value) >= SHORTEST
        if value == PURGED_TEXT:
            is_repeated = is_older
        else:
            is_repeated = value in values or (is_text and any(value in each for each in texts))
        if is_repeated:
            yield position.message


def list_older_values(positions: Sequence[Any], resolution: dict[str, Any]) -> list[Any]:
    """Return the values that a resolution rejected, but no position of the conflict has any more.

    Who made it still had them: it was replayed on a history whose record is without what was purged, or merged with it.
    """
    return [
        value
        for each in walk_resolutions(resolution)
        for value in _list_rejected(each)
        if value != PURGED_TEXT and value not in positions
    ]


def _walk_values(document: dict[str, Any]) -> Iterator[Any]:
    """Yield the values that a resolution chose or rejected, and others of the same conflict before it."""
    for each in walk_resolutions(document):
        yield from _list_rejected(each)
        if "value" in each:
            yield each["value"]


def _list_rejected(document: dict[str, Any]) -> list[Any]:
    rejected = document.get("rejected")
    return rejected if isinstance(rejected, list) else []


def walk_resolutions(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the document of a resolution, and those of others of the same conflict that are in it."""
    yield document
    also = document.get("also")
    for other in also if isinstance(also, list) else ():
        if isinstance(other, dict):
            yield from walk_resolutions(other)


def origin_of(message: Message) -> str | None:
    """Return the message whose content a message has again; None if it is one of its own."""
    return message.amends or quoted_by_retraction(message)
