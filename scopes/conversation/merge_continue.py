"""`merge --continue` and `merge --abort`: finish a merge whose conflicts are resolved, or give it up."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.conversation.merge import Conflicted, FastForwarded, Merged, MergeOutcome, conflicts_in_order
from scopes.errors import Conflicted as StillConflicted
from scopes.errors import NotFound, Refused
from scopes.history.revparse import find_conversation, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.auto_resolve import read_policy
from scopes.merge.commits import write_merge_commit
from scopes.merge.in_progress import InProgress, find_only_in_progress, open_conflicts_at, resolved_entry, waiting_entry
from scopes.merge.plan import MergePlan, plan_merge, write_state
from scopes.model.conversation import BranchEntry
from scopes.result import Result
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAborted(Result):
    """A merge that was taken back; what was said on its branch comes back with `undo`."""

    conversation: ConversationId
    branch: BranchName
    active_branch: BranchName
    operation: OperationId


def continue_merge(repository: Repository, conversation: str, branch: str | None = None) -> MergeOutcome:
    """Bring a resolved merge to its target; where that moved meanwhile, by a new merge with what is resolved.

    Raises:
        NotFound, Ambiguous: no merge waits, or several do and none is named; or the target is gone.
        Conflicted: a conflict is still open.
        Refused: the branch was moved back behind the merge that it held.
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        pending = find_only_in_progress(repository, chosen, branch, "merge")
        _require_whole(repository, pending)
        left = open_conflicts_at(repository, pending.tip)
        if left:
            raise StillConflicted(
                f"{len(left)} conflict{'s are' if len(left) > 1 else ' is'} still open on {chosen}/{pending.branch}",
                hint=f"see: scopes conflicts list {chosen}",
            )
        target = list_branch_tips(repository, chosen).get(pending.target)
        if target is None:
            raise NotFound(
                f"the target {chosen}/{pending.target} is gone",
                hint=f"bring it back with: scopes undo, or give the merge up: scopes conv merge {chosen} --abort",
            )
        policy = read_policy(repository.config, "automatic")
        plan = plan_merge(repository, repository, target, pending.tip, policy)
        if plan.open_conflicts:
            return _stopped_again(repository, pending, target, plan)
        return _finished(repository, pending, target, plan)


def _require_whole(repository: Repository, pending: InProgress) -> None:
    """Refuse to finish with a branch that was moved back behind its merge: the source would be lost."""
    if not is_ancestor(repository, pending.stopped, pending.tip):
        raise Refused(
            f"{pending.conversation}/{pending.branch} does not hold its merge any more",
            hint=f"take that back with: scopes undo, or give it up: scopes conv merge {pending.conversation} --abort",
        )


def abort_merge(repository: Repository, conversation: str, branch: str | None = None, *kinds: str) -> MergeAborted:
    """Remove a waiting merge's branch; the branch that was active before is so again.

    Raises:
        NotFound, Ambiguous: no merge waits, or several do and none is named.
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        pending = find_only_in_progress(repository, chosen, branch, *kinds)
        tx = Transaction(repository, chosen)
        active = _leave_resolution(tx, pending, None)
        tx.delete_branch(pending.branch, pending.tip)
        operation = tx.commit(
            f"{pending.kind}-abort", f"abort {chosen}/{pending.branch}", metadata_message=f"leave {pending.branch}"
        )
    return MergeAborted(conversation=chosen, branch=pending.branch, active_branch=active, operation=operation.id)


def _leave_resolution(tx: Transaction, pending: InProgress, entry: BranchEntry | None) -> BranchName:
    """Set or remove the entry of a resolution branch, and return the branch that becomes active instead of it."""
    tx.describe_branch(pending.branch, entry)
    tips = list_branch_tips(tx.repository, pending.conversation)
    active = next(name for name in (pending.before, pending.target, *sorted(tips)) if name in tips)
    tx.activate(active)
    return active


def _finished(repository: Repository, pending: InProgress, target: Oid, plan: MergePlan) -> MergeOutcome:
    chosen = pending.conversation
    tip = pending.tip
    if not plan.fast_forward:
        said = f"Merge {pending.branch} into {pending.target}"
        state = write_state(repository, plan)
        _, tip = write_merge_commit(repository, (target, tip), state, plan.messages, plan.conflicts, said)
    tx = Transaction(repository, chosen)
    _leave_resolution(tx, pending, resolved_entry(pending.entry, "merged"))
    tx.move_branch(pending.target, target, tip)
    summary = f"merge {pending.source} into {chosen}/{pending.target}, its conflicts resolved"
    operation = tx.commit("merge", summary, metadata_message=f"leave {pending.branch}")
    return (FastForwarded if plan.fast_forward else Merged)(
        conversation=chosen,
        source=pending.source,
        target=pending.target,
        branch=pending.target,
        tip=tip,
        messages=plan.messages,
        conflicts=plan.conflicts,
        operation=operation.id,
        notes=plan.notes,
    )


def _stopped_again(repository: Repository, pending: InProgress, target: Oid, plan: MergePlan) -> Conflicted:
    """Put the new merge with its new conflicts on the same branch; what was resolved stays so."""
    chosen = pending.conversation
    said = f"Merge {pending.branch} into {pending.target}"
    state = write_state(repository, plan)
    _, tip = write_merge_commit(repository, (target, pending.tip), state, plan.messages, plan.conflicts, said)
    document = {
        "kind": "merge",
        "target": pending.target,
        "target_tip": target,
        "source": pending.source,
        "source_tip": pending.tip,
        "before": pending.before,
        "stopped": tip,
    }
    tx = Transaction(repository, chosen)
    tx.move_branch(pending.branch, pending.tip, tip)
    tx.describe_branch(pending.branch, waiting_entry(pending.entry, document))
    operation = tx.commit(
        "merge-conflict",
        f"go on with {chosen}/{pending.branch}",
        metadata_message=f"go on with {pending.branch}",
    )
    return Conflicted(
        conversation=chosen,
        source=pending.source,
        target=pending.target,
        branch=pending.branch,
        tip=tip,
        messages=plan.messages,
        conflicts=conflicts_in_order(plan),
        operation=operation.id,
        notes=plan.notes,
    )
