"""What a merge would do: the commits that come in, the conflicts with what becomes of each, the state at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scopes.errors import Refused
from scopes.history.messages import is_root, message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.attribution import describe
from scopes.merge.auto_resolve import Policy, auto_resolve
from scopes.merge.conflict_keys import CONFLICTS
from scopes.merge.detection import Disagreement, find_disagreements
from scopes.merge.divergence import Divergence, Moves, PathChange, Side, find_divergence
from scopes.model import canonical
from scopes.model.conflict import Choice, Conflict, encode_conflict
from scopes.model.path_encoding import leaf
from scopes.result import Note
from scopes.store.repository import Objects, Repository
from scopes.store.trees import Change, read_blob, update_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """A merge that is worked out and not yet done; `messages` come in from the source, oldest first (S4-11)."""

    divergence: Divergence
    contests: tuple[Disagreement, ...]
    conflicts: tuple[Conflict, ...]
    messages: tuple[MessageId, ...]
    notes: tuple[Note, ...] = ()

    @property
    def open_conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts that somebody has to resolve."""
        return tuple(conflict for conflict in self.conflicts if conflict.status != "resolved")

    @property
    def up_to_date(self) -> bool:
        """Whether the source has nothing that the target has not."""
        return not self.divergence.source.commits

    @property
    def fast_forward(self) -> bool:
        """Whether the target is a point in the history of the source."""
        return self.divergence.bases == (self.divergence.target.tip,)


def plan_merge(
    repository: Repository, objects: Objects, target: Oid, source: Oid, policy: Policy, *, unrelated: bool = False
) -> MergePlan:
    """Work a merge out. Only trees may be written, to `objects`; no ref moves.

    Raises:
        Refused: the histories have nothing in common and `unrelated` is not given, or a rule forbids the merge.
    """
    divergence = find_divergence(repository, objects, target, source, unrelated=unrelated)
    if divergence is None:
        raise Refused(
            "the two histories have no message in common", hint="merge them all the same with --allow-unrelated"
        )
    return plan_of(objects, divergence, policy)


def plan_of(objects: Objects, divergence: Divergence, policy: Policy) -> MergePlan:
    """Find the conflicts of a divergence and settle those that the policy settles."""
    contests = find_disagreements(objects, divergence)
    conflicts, notes = auto_resolve(describe(objects, divergence, contests), policy)
    return MergePlan(
        divergence=divergence,
        contests=contests,
        conflicts=tuple(conflicts),
        messages=_new_messages(divergence.source, divergence.target),
        notes=tuple(notes),
    )


def write_state(objects: Objects, plan: MergePlan) -> Oid | None:
    """Write the state that a planned merge ends with."""
    return merged_state(objects, plan.divergence, plan.contests, plan.conflicts)


def _new_messages(source: Side, target: Side) -> tuple[MessageId, ...]:
    known = {message_id_of(commit) for commit in target.commits}
    fresh = (message_id_of(commit) for commit in source.commits if not is_root(commit))
    return tuple(dict.fromkeys(identity for identity in fresh if identity not in known))


BOTH = "both"


def merged_state(
    objects: Objects, divergence: Divergence, contests: Iterable[Disagreement], conflicts: Iterable[Conflict]
) -> Oid | None:
    """Write the merged state; a subject whose conflict is open stands as the target has it, with the conflict beside.

    `conflicts` are those of the contests, in the same order.
    """
    changes: dict[str, Change] = {}
    contested: set[str] = set()
    for contest, conflict in zip(contests, conflicts, strict=True):
        contested.add(contest.key)
        if conflict.resolution is not None:
            changes |= apply_choice(objects, contest.target, contest.source, conflict.resolution.choice)
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


def apply_choice(objects: Objects, target: Moves, source: Moves, choice: Choice) -> dict[str, Change]:
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


def _both(objects: Objects, ours: PathChange | None, theirs: PathChange | None) -> Change:
    """Keep what both sides say: side by side where it stands at one path, in an order that no side decides."""
    if ours is None or theirs is None or ours.new == theirs.new:
        return (ours or theirs or PathChange(None, None)).new
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
