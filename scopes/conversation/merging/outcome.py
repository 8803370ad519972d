"""The state that a merge ends with: what each side did alone, and what was chosen where both disagree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scopes.conversation.merging.detecting import Contest
from scopes.conversation.merging.states import Divergence, Move, Moves
from scopes.conversation.merging.subjects import CONFLICTS
from scopes.ids import Oid
from scopes.model import canonical
from scopes.model.conflict import Choice, Conflict, encode_conflict
from scopes.model.keys import leaf
from scopes.store.repository import Objects
from scopes.store.trees import Change, read_blob, update_tree

BOTH = "both"


def merged_state(
    objects: Objects, divergence: Divergence, contests: Iterable[Contest], conflicts: Iterable[Conflict]
) -> Oid | None:
    """Write the merged state; a subject whose conflict is open stands as the target has it, with the conflict beside.

    `conflicts` are those of the contests, in the same order.
    """
    changes: dict[str, Change] = {}
    contested: set[str] = set()
    for contest, conflict in zip(contests, conflicts, strict=True):
        contested.add(contest.key)
        if conflict.resolution is not None:
            changes |= taken(objects, contest.target, contest.source, conflict.resolution.choice)
        else:
            changes[conflict_path(conflict)] = encode_conflict(conflict)
    for key, moves in divergence.source.subjects.items():
        if key not in contested:
            changes |= {path: move.new for path, move in moves.items()}
    state = divergence.target.state
    return update_tree(objects, state, changes) if changes else state


def conflict_path(conflict: Conflict) -> str:
    """Return where the record of a conflict stands below `state/`."""
    return leaf(CONFLICTS, conflict.id)


def taken(objects: Objects, target: Moves, source: Moves, choice: Choice) -> dict[str, Change]:
    """Return what a choice makes of the paths of a subject, as changes of the target's state."""
    changes: dict[str, Change] = {}
    for path in target.keys() | source.keys():
        ours, theirs = target.get(path), source.get(path)
        old = ours.old if ours is not None else theirs.old if theirs is not None else None
        match choice:
            case "source":
                changes[path] = old if theirs is None else theirs.new
            case "base":
                changes[path] = old
            case "both":
                changes[path] = _both(objects, ours, theirs)
    return changes


def _both(objects: Objects, ours: Move | None, theirs: Move | None) -> Change:
    """Keep what both sides say: side by side where it stands at one path, in an order that no side decides."""
    if ours is None or theirs is None or ours.new == theirs.new:
        return (ours or theirs or Move(None, None)).new
    claims = [claim for move in (ours, theirs) for claim in _claims(objects, move.new)]
    unique = {canonical.dump(claim): claim for claim in claims}
    return canonical.dump({BOTH: [unique[data] for data in sorted(unique)]})


def _claims(objects: Objects, blob: Oid | None) -> list[Any]:
    if blob is None:
        return [None]
    claim: Any = canonical.load(read_blob(objects, blob))
    match claim:
        case {"both": list(several), **rest} if not rest:
            return several
    return [claim]
