"""Links of a message to its sources, the messages that it was made from; used for stored and for fetched messages.

Messages with sources are amendments, notices that quote what they retract, summaries and compactions, decisions that
accept a candidate, reviews that repeat the values of a proposal, and resolutions and merges that repeat a value of a
conflict. A compaction that an agent wrote names no source: the proof of a purge reports it if it has a purged line.

The links are in the message itself, since copies of it may be anywhere: a rebase may move it to a history in which its
sources are purged. A message made after a purge has no purged content and does not name its source:
`memory/source_messages` leaves that out, and a resolution repeats "[purged]".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from scopes.errors import Corrupt, NotFound
from scopes.ids import Oid
from scopes.importers.purged_texts import walk_texts
from scopes.memory.decision_candidates import ACCEPTS
from scopes.model import canonical_json
from scopes.model.canonical_json import leaf
from scopes.model.conflicts import Conflict, decode_conflict
from scopes.model.message import CONFLICTS, PURGED, PURGED_TEXT, RETRACTED_TEXT, Message, purge_message
from scopes.store.objects import Objects, find_blob

SHORTEST: Final = 4  # characters of a value that is recognized in a text
_FIELDS: Final = ("amends", "retracts", "summarizes", ACCEPTS, "review", "conflict", "merge")
_MARKS: Final = tuple(f'"{name}"'.encode() for name in _FIELDS)
_PURGED_MARK: Final = f'"{PURGED}"'.encode()


def has_marks(data: bytes) -> bool:
    """Return False if the bytes of a message cannot have a link to a source."""
    return any(mark in data for mark in _MARKS)


def is_tombstone(data: bytes) -> bool:
    """Return True if the bytes of a message are a tombstone: what is left after all of it was purged."""
    return _PURGED_MARK in data and purge_message(data) == data


def walk_origins(objects: Objects, commit: Oid, message: Message) -> Iterator[str]:
    """Yield the ids of the messages that the message of a commit names as its sources, each once."""
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
    """Yield the values that an automatic merge chose or rejected, by key: it stores no record of the conflict."""
    for document in _walk_resolutions(message):
        key = document.get("key")
        if isinstance(key, str) and _find_conflict(objects, commit, document) is None:
            for value in _walk_values(document):
                yield key, canonical_json.dump(value)


def list_values(message: Message) -> list[tuple[str, bytes]]:
    """Return the values that a typed message states, each with the key that a merge uses for it."""
    from scopes.merge.keys import key_of_path, stated_claims

    claims = ((key_of_path(path), canonical_json.load(claim)) for path, claim in stated_claims(message).items())
    from scopes.merge.plan import claim_value

    return [(key, canonical_json.dump(claim_value(key, claim))) for key, claim in claims]


def _walk_resolutions(message: Message) -> Iterator[dict[str, Any]]:
    """Yield the resolutions in a message: one in a resolution, all that it resolved in a merge."""
    merge = message.extra.get("merge")
    resolved = merge.get("resolved") if isinstance(merge, dict) else None
    for document in (message.extra.get("conflict"), *(resolved if isinstance(resolved, list) else ())):
        if isinstance(document, dict):
            yield document


def _find_conflict(objects: Objects, commit: Oid, document: dict[str, Any]) -> Conflict | None:
    """Return the record of a conflict in the state of the message that resolved it."""
    name = document.get("id")
    try:
        from scopes.merge.compare import state_of

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
    """Return the values that a resolution rejected and that are no longer in any position of the conflict.

    They existed when it was made: it was replayed on, or merged with, a history whose record has been purged.
    """
    return [
        value
        for each in walk_resolutions(resolution)
        for value in _list_rejected(each)
        if value != PURGED_TEXT and value not in positions
    ]


def _walk_values(document: dict[str, Any]) -> Iterator[Any]:
    """Yield the values chosen or rejected by a resolution and by earlier ones of the same conflict."""
    for each in walk_resolutions(document):
        yield from _list_rejected(each)
        if "value" in each:
            yield each["value"]


def _list_rejected(document: dict[str, Any]) -> list[Any]:
    rejected = document.get("rejected")
    return rejected if isinstance(rejected, list) else []


def walk_resolutions(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the document of a resolution, and those of other resolutions of the same conflict nested in it."""
    yield document
    also = document.get("also")
    for other in also if isinstance(also, list) else ():
        if isinstance(other, dict):
            yield from walk_resolutions(other)


def origin_of(message: Message) -> str | None:
    """Return the id of the message whose content a message repeats; None if it repeats none."""
    return message.amends or quoted_by_retraction(message)


def quoted_by_retraction(notice: Message) -> str | None:
    """Return the message that a notice retracts in the words of that message; None if it has others, or none of it."""
    quotes = notice.text.startswith(RETRACTED_TEXT) and notice.text != RETRACTED_TEXT + PURGED_TEXT
    return notice.retracts if quotes else None
