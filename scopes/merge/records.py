"""The conflict records in a state: list them, and merge those of two sides.

A record describes a conflict, it is no claim: two records of one conflict never conflict with each other. A resolved
record replaces an open one. Of two resolved ones both resolutions are kept, the second as one of `also`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scopes.ids import Oid
from scopes.merge.conflict_keys import group_of
from scopes.merge.divergence import Divergence, state_of
from scopes.model import encoding
from scopes.model.claims import CONFLICTS
from scopes.model.conflicts import (
    Conflict,
    Position,
    Resolution,
    decode_conflict,
    encode_conflict,
    resolution_document,
)
from scopes.model.path_encoding import leaf
from scopes.store.repository import Objects, read_tree
from scopes.store.trees import BlobChange, find_entry, read_blob

_TAKING_A_SIDE = frozenset({"ours", "theirs"})  # strategies


def conflict_path(conflict: Conflict) -> str:
    """Return the path of a conflict's record below `state/`."""
    return leaf(CONFLICTS, conflict.id)


def is_recorded(conflict: Conflict) -> bool:
    """Return True if the state of a merge keeps the record of a conflict: one that is open, or that a side won.

    What resolves itself in the same way in both directions is in the message of the merge alone.
    """
    strategy = "" if conflict.resolution is None else conflict.resolution.strategy
    return conflict.resolution is None or strategy in _TAKING_A_SIDE or strategy.startswith("rule ")


def list_conflicts_at(objects: Objects, tip: Oid) -> dict[str, Conflict]:
    """Return the conflicts recorded in the state of a commit, by id, ordered by key and type."""
    return list_records(objects, state_of(objects, tip))


def list_records(objects: Objects, state: Oid | None) -> dict[str, Conflict]:
    """Return the conflicts recorded in a state, by id, ordered by key and type."""
    entry = None if state is None else find_entry(objects, state, CONFLICTS)
    if entry is None or not entry.is_tree:
        return {}
    records = (decode_conflict(read_blob(objects, each.oid)) for each in read_tree(objects, entry.oid).values())
    return {record.id: record for record in sorted(records, key=lambda each: (each.key, each.type))}


def open_conflicts_at(objects: Objects, tip: Oid) -> list[Conflict]:
    """Return the open conflicts in the state of a commit."""
    return [record for record in list_conflicts_at(objects, tip).values() if record.status != "resolved"]


def merge_records(objects: Objects, divergence: Divergence) -> dict[str, BlobChange]:
    """Return the changes to the target's state that merge the records of the source into it."""
    changes: dict[str, BlobChange] = {}
    for key, source_changes in divergence.source.changes.items():
        if not key.startswith(CONFLICTS) or group_of(key) != CONFLICTS:  # there may be thousands of files
            continue
        in_target = divergence.target.changes.get(key, {})
        for path, change in source_changes.items():
            other = in_target.get(path)
            if other is None or other.new is None or change.new is None:
                changes[path] = change.new if other is None or other.new is None else other.new
            elif other.new != change.new:
                pair = [decode_conflict(read_blob(objects, blob)) for blob in (other.new, change.new)]
                changes[path] = encode_conflict(_merge_pair(*pair))
    return changes


def list_inherited(objects: Objects, divergence: Divergence) -> list[Conflict]:
    """Return the conflicts that are open in one of the sides, and would still be open after a merge."""
    found = list_records(objects, divergence.target.state)
    for path, blob in merge_records(objects, divergence).items():
        if blob is not None:
            record = decode_conflict(blob if isinstance(blob, bytes) else read_blob(objects, Oid(blob)))
            found[record.id] = record
        else:
            found = {name: record for name, record in found.items() if conflict_path(record) != path}
    return [record for record in found.values() if record.status != "resolved"]


def keep_resolutions(conflict: Conflict, others: Iterable[Conflict]) -> Conflict:
    """Return a resolved conflict that also has the resolutions of other records of the same conflict."""
    if conflict.resolution is None:
        return conflict
    mine = conflict.resolution._replace(also=())
    unique = {_dump(each): each for each in conflict.resolution.also}
    for other in others:
        if other.resolution is not None:
            flipped = _values(conflict.source) != _values(other.source)
            for each in (other.resolution._replace(also=()), *other.resolution.also):
                oriented = _flip(each) if flipped else each
                unique.setdefault(_dump(oriented), oriented)
    also = tuple(unique[data] for data in sorted(unique) if data != _dump(mine))
    return replace(conflict, resolution=mine._replace(also=also))


def _merge_pair(one: Conflict, other: Conflict) -> Conflict:
    """Merge two records of one conflict; the result does not depend on their order."""
    first, second = sorted((one, other), key=lambda each: (each.resolution is None, encode_conflict(each)))
    return keep_resolutions(first, [second])


def _values(positions: Iterable[Position]) -> list[bytes]:
    return [encoding.dump(position.value) for position in positions]


def _flip(resolution: Resolution) -> Resolution:
    """Return a resolution whose record has source and target in the other order."""
    choices = {"source": "target", "target": "source"}
    return resolution._replace(choice=choices.get(resolution.choice, resolution.choice))


def _dump(resolution: Resolution) -> bytes:
    return encoding.dump(resolution_document(resolution))
