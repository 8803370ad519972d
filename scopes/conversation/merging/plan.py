"""What a merge would do: the commits that come in, the conflicts with what becomes of each, the state at the end."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.conversation.heads import is_root, message_id_of
from scopes.conversation.merging.detecting import Contest, find_contests
from scopes.conversation.merging.outcome import merged_state
from scopes.conversation.merging.positions import describe
from scopes.conversation.merging.settling import Policy, settle
from scopes.conversation.merging.states import Divergence, Side, find_divergence
from scopes.errors import Refused
from scopes.ids import MessageId, Oid
from scopes.model.conflict import Conflict
from scopes.result import Note
from scopes.store.repository import Objects, Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """A merge that is worked out and not yet done; `messages` come in from the source, oldest first (S4-11)."""

    divergence: Divergence
    contests: tuple[Contest, ...]
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
    contests = find_contests(objects, divergence)
    conflicts, notes = settle(describe(objects, divergence, contests), policy)
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
