"""Name the authors of conflicting values: the message that set each path of the state, as positions of a conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scopes.history.messages import message_id_of, read_message
from scopes.ids import Oid
from scopes.merge.conflict_keys import group_of, value_field
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence, PathChanges, Side, state_of
from scopes.model import encoding
from scopes.model.conflicts import ENTITIES, MESSAGES, PROPOSALS, Conflict, Position, conflict_id
from scopes.model.message import Message
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects
from scopes.store.trees import diff_blobs, find_entry, read_blob

_PROPOSAL_GROUPS = frozenset({PROPOSALS, ENTITIES})


def blame_paths(objects: Objects, newest_first: Iterable[Commit], wanted: Mapping[str, Oid | None]) -> dict[str, Oid]:
    """Return the newest commit that set each path to its blob; `wanted` maps paths to blobs.

    A merge commit counts only for paths that differ from all its parents.
    """
    found: dict[str, Oid] = {}
    missing = dict(wanted)
    states: dict[Oid, Oid | None] = {}
    for commit in newest_first:
        if not missing:
            break
        state = states.pop(commit.oid) if commit.oid in states else state_of(objects, commit.oid)
        for parent in commit.parents:
            states.setdefault(parent, state_of(objects, parent))
        changed: set[str] | None = None
        for before in [states[parent] for parent in commit.parents] or [None]:
            paths = {path for path, _, new in diff_blobs(objects, before, state) if missing.get(path, path) == new}
            changed = paths if changed is None else changed & paths
        for path in changed or ():
            found[path] = commit.oid
            del missing[path]
    return found


def describe(objects: Objects, divergence: Divergence, disagreements: Iterable[Disagreement]) -> list[Conflict]:
    """Return a conflict for each disagreement, with the positions of the base and of both sides."""
    listed = list(disagreements)
    authors = {
        "target": _blame_side(objects, divergence.target, [each.target for each in listed]),
        "source": _blame_side(objects, divergence.source, [each.source for each in listed]),
        "base": _blame_base(objects, divergence, listed),
    }
    originals = _find_original_messages(objects, divergence, [each.key for each in listed])
    return [_conflict(objects, each, authors, originals) for each in listed]


def _blame_side(objects: Objects, side: Side, changes: Iterable[PathChanges]) -> dict[str, Oid]:
    wanted = {path: change.new for each in changes for path, change in each.items() if change.new != change.old}
    found = blame_paths(objects, reversed(side.commits), wanted)
    older = {path: blob for path, blob in wanted.items() if path not in found and blob is not None}
    if older:  # a replayed message may meet values that are older than the commits of its new base
        found |= blame_paths(objects, walk_newest_first(objects, [side.tip]), older)
    return found


def _blame_base(objects: Objects, divergence: Divergence, disagreements: Iterable[Disagreement]) -> dict[str, Oid]:
    wanted = {
        path: change.old
        for each in disagreements
        for changes in (each.target, each.source)
        for path, change in changes.items()
        if change.old is not None
    }
    return blame_paths(objects, walk_newest_first(objects, divergence.bases), wanted) if wanted else {}


def _find_original_messages(objects: Objects, divergence: Divergence, keys: Iterable[str]) -> dict[str, Oid]:
    """Return the commits, in the history of the bases, of the messages that keys are about."""
    missing = {key.partition("/")[2]: key for key in keys if group_of(key) == MESSAGES}
    found: dict[str, Oid] = {}
    for commit in walk_newest_first(objects, divergence.bases) if missing else ():
        key = missing.pop(message_id_of(commit), None)
        if key is not None:
            found[key] = commit.oid
        if not missing:
            break
    return found


def _conflict(
    objects: Objects,
    disagreement: Disagreement,
    authors: Mapping[str, Mapping[str, Oid]],
    originals: Mapping[str, Oid],
) -> Conflict:
    key, sides = disagreement.key, (disagreement.target, disagreement.source)
    old_blobs = {path: change.old for changes in sides for path, change in changes.items()}
    original = [originals[key]] if key in originals and not any(old_blobs.values()) else []
    base = _positions(objects, key, old_blobs, authors["base"], original)
    target, source = (
        _positions(
            objects,
            key,
            {path: change.new for path, change in changes.items() if change.new != change.old or path in restated},
            {**authors[name], **restated},
            messages,
        )
        for name, changes, restated, messages in (
            ("target", disagreement.target, disagreement.target_restated, disagreement.target_messages),
            ("source", disagreement.source, disagreement.source_restated, disagreement.source_messages),
        )
    )
    values = [[position.value for position in positions] for positions in (base, source, target)]
    return Conflict(
        id=conflict_id(disagreement.type, key, *values),
        type=disagreement.type,
        key=key,
        base=base,
        source=source,
        target=target,
    )


def _positions(
    objects: Objects, key: str, blobs: Mapping[str, Oid | None], authors: Mapping[str, Oid], messages: Iterable[Oid]
) -> tuple[Position, ...]:
    """Return the positions in blobs, the newest last, then those of messages."""
    age = {oid: rank for rank, oid in enumerate(dict.fromkeys(authors.values()))}  # blame finds the newest first
    paths = sorted(blobs, key=lambda path: (-age.get(authors.get(path, Oid("")), len(age)), path))
    pairs = ((blobs[path], authors.get(path)) for path in paths)
    positions = [_position(objects, key, blob, author) for blob, author in pairs if blob is not None]
    for oid in messages:
        message = read_message(objects, oid)
        positions.append(Position(message.text, message.id, message.author.name, _confidence(message)))
    return tuple(positions)


def _position(objects: Objects, key: str, blob: Oid, author: Oid | None) -> Position:
    claim: Any = encoding.load(read_blob(objects, blob))
    value = claim_value(key, claim)
    if author is None:
        return Position(value)
    message = read_message(objects, author)
    if group_of(key) == MESSAGES and message.amends is not None:
        value = message.text
    return Position(value, message.id, message.author.name, _confidence(message))


def claim_value(key: str, claim: Any) -> Any:
    """Return the value of a claim: its value field if keys of that group have one, else the whole claim."""
    field = value_field(key)
    if isinstance(claim, dict) and field is not None and field in claim:
        return claim[field]
    if isinstance(claim, dict) and group_of(key) in _PROPOSAL_GROUPS and claim.get("operation") == "update":
        return claim.get("after")
    return claim


def _confidence(message: Message) -> float | None:
    value = (message.payload or {}).get("confidence")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def blob_at(objects: Objects, state: Oid | None, path: str) -> Oid | None:
    """Return the blob at a path of a state, or None."""
    entry = None if state is None else find_entry(objects, state, path)
    return None if entry is None or entry.is_tree else entry.oid
