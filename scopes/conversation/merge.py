"""`merge`: join a branch into another one, and keep what they disagree on as data until somebody resolves it.

A merge without divergence moves the target forward; one without conflicts is a commit with two parents. A conflicted
one leaves the target where it is: the merge becomes the tip of a branch of its own, where it is talked about, resolved,
and continued or aborted later.
"""

from __future__ import annotations

from dataclasses import dataclass

from scopes.clock import now
from scopes.errors import Invalid, Refused
from scopes.history.revparse import (
    Revision,
    find_active_branch,
    list_branch_tips,
    resolve_branch,
    resolve_revision,
    resolve_revision_anywhere,
)
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.auto_resolve import read_policy
from scopes.merge.commits import write_merge_commit, write_notice
from scopes.merge.divergence import state_of
from scopes.merge.in_progress import PURPOSE, list_in_progress, require_resolved, resolution_branch, waiting_entry
from scopes.merge.plan import MergePlan, plan_merge, write_state
from scopes.model.conflict import Conflict
from scopes.model.conversation import BranchEntry
from scopes.result import Result
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOutcome(Result):
    """What a merge came to (S4-9); `branch` is where its result stands, `messages` came in, oldest first.

    `conflicts` holds the open ones, in the order that numbers them, then those that were settled on the way. With
    `dry_run` nothing has happened.
    """

    conversation: ConversationId
    source: str
    target: BranchName
    branch: BranchName
    tip: Oid | None
    messages: tuple[MessageId, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dry_run: bool = False
    operation: OperationId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpToDate(MergeOutcome):
    """The target has everything already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwarded(MergeOutcome):
    """The target had nothing of its own and moved to the source's tip (S4-10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(MergeOutcome):
    """A commit with both tips as its parents."""

    message: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicted(MergeOutcome):
    """A merge that waits on `branch` for its conflicts to be resolved (S4-16, S4-17); the target did not move."""

    @property
    def exit_code(self) -> int:
        """Three: stopped on conflicts."""
        return 3


def merge(
    repository: Repository,
    conversation: str,
    source: str,
    *,
    target: str | None = None,
    strategy: str = "automatic",
    fast_forward: bool = True,
    auto_priority: bool = False,
    strict: bool = False,
    unrelated: bool = False,
    text: str | None = None,
    dry_run: bool = False,
) -> MergeOutcome:
    """Merge `source` (a branch, or any place of this or another conversation) into `target` (the active branch).

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Invalid: it is one and the same branch, or there is no such strategy.
        Refused: the histories have nothing in common, or a rule forbids it.
        Conflicted: one of the tips still has open conflicts.
    """
    policy = read_policy(repository.config, strategy, auto_priority=auto_priority, strict=strict)
    if dry_run:
        with bulk_objects(repository, keep=False) as objects:
            merging = _prepare(repository, conversation, source, target)
            plan = plan_merge(repository, objects, merging.old, merging.place.oid, policy, unrelated=unrelated)
            return _foreseen(merging, plan, fast_forward=fast_forward)
    with exclusive_write(repository):
        merging = _prepare(repository, conversation, source, target)
        _refuse_second(repository, merging)
        plan = plan_merge(repository, repository, merging.old, merging.place.oid, policy, unrelated=unrelated)
        if plan.up_to_date or (plan.fast_forward and fast_forward):
            return _moved(repository, merging, plan)
        if plan.open_conflicts:
            return _stopped(repository, merging, plan, text)
        return _merged(repository, merging, plan, text)


@dataclass(frozen=True, slots=True)
class _Merging:
    """The names and places of one merge."""

    conversation: ConversationId
    target: BranchName
    old: Oid
    source: str
    place: Revision


def _prepare(repository: Repository, conversation: str, source: str, target: str | None) -> _Merging:
    chosen, name = resolve_branch(repository, conversation, target)
    place = resolve_revision_anywhere(repository, source, chosen)
    old = resolve_revision(repository, name, chosen).oid
    if place.conversation == chosen and place.branch == name and place.oid == old:
        raise Invalid(f"{name} cannot be merged into itself", hint="name another branch with --source or --target")
    shown = place.branch or source
    if place.conversation != chosen:
        shown = f"{place.conversation}/{shown}" if place.branch else source
    require_resolved(repository, place.oid, f"the source {shown}")
    require_resolved(repository, old, f"the target {name}")
    return _Merging(chosen, name, old, shown, place)


def _refuse_second(repository: Repository, merging: _Merging) -> None:
    """Refuse to begin again what waits already.

    Raises:
        Refused: a merge of this source into this target waits for its resolution.
    """
    for pending in list_in_progress(repository, merging.conversation):
        if (pending.kind, pending.source, pending.target) == ("merge", merging.source, merging.target):
            raise Refused(
                f"a merge of {merging.source} into {merging.target} waits on {pending.branch}",
                hint=f"go on with it, or give it up: scopes conv merge {merging.conversation} --abort",
            )


def _foreseen(merging: _Merging, plan: MergePlan, *, fast_forward: bool) -> MergeOutcome:
    """Say what would happen (S4-18)."""
    kind: type[MergeOutcome] = Merged
    if plan.up_to_date:
        kind = UpToDate
    elif plan.fast_forward and fast_forward:
        kind = FastForwarded
    elif plan.open_conflicts:
        kind = Conflicted
    return kind(
        conversation=merging.conversation,
        source=merging.source,
        target=merging.target,
        branch=merging.target,
        tip=None,
        messages=plan.messages,
        conflicts=conflicts_in_order(plan),
        dry_run=True,
        notes=plan.notes,
    )


def _moved(repository: Repository, merging: _Merging, plan: MergePlan) -> MergeOutcome:
    """Move the target forward to the source, or leave it where it has everything."""
    operation = None
    if not plan.up_to_date:
        tx = Transaction(repository, merging.conversation)
        tx.move_branch(merging.target, merging.old, merging.place.oid)
        operation = tx.commit(
            "merge", f"merge {merging.source} into {merging.conversation}/{merging.target} (fast-forward)"
        ).id
    return (UpToDate if plan.up_to_date else FastForwarded)(
        conversation=merging.conversation,
        source=merging.source,
        target=merging.target,
        branch=merging.target,
        tip=merging.old if plan.up_to_date else merging.place.oid,
        messages=plan.messages,
        operation=operation,
    )


def _merged(repository: Repository, merging: _Merging, plan: MergePlan, text: str | None) -> Merged:
    said = text or f"Merge {merging.source} into {merging.target}"
    parents = merging.old, merging.place.oid
    state = write_state(repository, plan)
    message, tip = write_merge_commit(repository, parents, state, plan.messages, plan.conflicts, said)
    tx = Transaction(repository, merging.conversation)
    tx.move_branch(merging.target, merging.old, tip)
    operation = tx.commit("merge", f"merge {merging.source} into {merging.conversation}/{merging.target}")
    return Merged(
        conversation=merging.conversation,
        source=merging.source,
        target=merging.target,
        branch=merging.target,
        tip=tip,
        messages=plan.messages,
        conflicts=plan.conflicts,
        operation=operation.id,
        message=message,
        notes=plan.notes,
    )


def _stopped(repository: Repository, merging: _Merging, plan: MergePlan, text: str | None) -> Conflicted:
    """Put the merge on a branch of its own, which becomes the active one."""
    chosen, target = merging.conversation, merging.target
    said = text or f"Merge {merging.source} into {target}"
    _, notice = write_notice(repository, merging.old, merging.place.oid, state_of(repository, merging.old))
    state = write_state(repository, plan)
    _, tip = write_merge_commit(repository, (notice, merging.place.oid), state, plan.messages, plan.conflicts, said)
    before = find_active_branch(repository, chosen)
    name = resolution_branch(list_branch_tips(repository, chosen), merging.source, target)
    entry = waiting_entry(
        BranchEntry(purpose=PURPOSE, parent=target, fork=merging.old, created=now()),
        {
            "kind": "merge",
            "target": target,
            "target_tip": merging.old,
            "source": merging.source,
            "source_tip": merging.place.oid,
            "before": before,
            "stopped": tip,
        },
    )
    tx = Transaction(repository, chosen)
    tx.create_branch(name, tip)
    tx.describe_branch(name, entry)
    tx.activate(name)
    summary = f"begin to merge {merging.source} into {chosen}/{target}"
    operation = tx.commit("merge-conflict", summary, metadata_message=f"create {name}")
    return Conflicted(
        conversation=chosen,
        source=merging.source,
        target=target,
        branch=name,
        tip=tip,
        messages=plan.messages,
        conflicts=conflicts_in_order(plan),
        operation=operation.id,
        notes=plan.notes,
    )


def conflicts_in_order(plan: MergePlan) -> tuple[Conflict, ...]:
    """Return the conflicts that wait, as they will be numbered, then those that were settled on the way."""
    return tuple(sorted(plan.conflicts, key=lambda conflict: conflict.status == "resolved"))
