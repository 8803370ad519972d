"""Who says what: the message that gave a path of the state its value, and the positions of a conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scopes.history.messages import message_id_of, read_message
from scopes.ids import Oid
from scopes.merge.conflict_keys import MESSAGES, group_of, value_field
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence, Side, state_of
from scopes.model import canonical
from scopes.model.conflict import Conflict, Position, conflict_id
from scopes.model.message import Message
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects
from scopes.store.trees import diff_blobs, find_entry, read_blob

_PROPOSAL_GROUPS = frozenset({"proposals", "entities"})


def blame_paths(objects: Objects, newest_first: Iterable[Commit], wanted: Mapping[str, Oid | None]) -> dict[str, Oid]:
    """Return the newest commit that gave each path its value; `wanted` has the blob of each path.

    A merge counts only for what differs from all its parents.
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


def describe(objects: Objects, divergence: Divergence, contests: Iterable[Disagreement]) -> list[Conflict]:
    """Turn contests into conflicts with the positions of the base and of both sides."""
    listed = list(contests)
    setters = {
        "target": _setters_of(objects, divergence.target, [contest.target for contest in listed]),
        "source": _setters_of(objects, divergence.source, [contest.source for contest in listed]),
        "base": _setters_of_base(objects, divergence, listed),
    }
    originals = _originals(objects, divergence, [contest.key for contest in listed])
    return [_conflict(objects, contest, setters, originals) for contest in listed]


def _setters_of(objects: Objects, side: Side, moves: Iterable[Mapping[str, Any]]) -> dict[str, Oid]:
    wanted = {path: move.new for each in moves for path, move in each.items() if move.new != move.old}
    found = blame_paths(objects, reversed(side.commits), wanted)
    older = {path: blob for path, blob in wanted.items() if path not in found and blob is not None}
    if older:  # a message that is put on an earlier place than its own finds there what was said before
        found |= blame_paths(objects, walk_newest_first(objects, [side.tip]), older)
    return found


def _setters_of_base(objects: Objects, divergence: Divergence, contests: Iterable[Disagreement]) -> dict[str, Oid]:
    wanted = {
        path: move.old
        for contest in contests
        for moves in (contest.target, contest.source)
        for path, move in moves.items()
        if move.old is not None
    }
    return blame_paths(objects, walk_newest_first(objects, divergence.bases), wanted) if wanted else {}


def _originals(objects: Objects, divergence: Divergence, keys: Iterable[str]) -> dict[str, Oid]:
    """Return the messages below the bases that the keys are about."""
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
    objects: Objects, contest: Disagreement, setters: Mapping[str, Mapping[str, Oid]], originals: Mapping[str, Oid]
) -> Conflict:
    olds = {path: move.old for moves in (contest.target, contest.source) for path, move in moves.items()}
    original = [originals[contest.key]] if contest.key in originals and not any(olds.values()) else []
    base = _positions(objects, contest.key, olds, setters["base"], original)
    target, source = (
        _positions(objects, contest.key, {p: m.new for p, m in moves.items() if m.new != m.old}, setters[name], answers)
        for name, moves, answers in (
            ("target", contest.target, contest.target_messages),
            ("source", contest.source, contest.source_messages),
        )
    )
    said = [[position.value for position in side] for side in (base, source, target)]
    return Conflict(
        id=conflict_id(contest.type, contest.key, *said),
        type=contest.type,
        key=contest.key,
        base=base,
        source=source,
        target=target,
    )


def _positions(
    objects: Objects, key: str, blobs: Mapping[str, Oid | None], setters: Mapping[str, Oid], answers: Iterable[Oid]
) -> tuple[Position, ...]:
    """Return what is said in those blobs, the last said last."""
    age = {oid: rank for rank, oid in enumerate(dict.fromkeys(setters.values()))}  # the newest commit was found first
    paths = sorted(blobs, key=lambda path: (-age.get(setters.get(path, Oid("")), len(age)), path))
    said = ((blobs[path], setters.get(path)) for path in paths)
    found = [_position(objects, key, blob, setter) for blob, setter in said if blob is not None]
    for oid in answers:
        message = read_message(objects, oid)
        found.append(Position(message.text, message.id, message.author.name, _confidence(message)))
    return tuple(found)


def _position(objects: Objects, key: str, blob: Oid, setter: Oid | None) -> Position:
    claim: Any = canonical.load(read_blob(objects, blob))
    message = None if setter is None else read_message(objects, setter)
    value = claim_value(key, claim)
    if message is not None and group_of(key) == MESSAGES and message.amends is not None:
        value = message.text
    if message is None:
        return Position(value)
    return Position(value, message.id, message.author.name, _confidence(message))


def claim_value(key: str, claim: Any) -> Any:
    """Return what a claim says, without the frame it stands in."""
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
