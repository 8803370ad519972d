"""`merge`: merge a branch into another one; `--continue` and `--abort` for a merge that stopped on conflicts.

If the target has no messages of its own, it moves forward; otherwise the merge is a commit with two parents. With
conflicts the target does not move: the merge commit goes on a conflict-resolution branch, with the conflicts as data in
its state. The branch is where they are discussed and resolved before the merge is continued or aborted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from shlex import quote

from scopes.clock import now
from scopes.conversation.merge_outcomes import (
    FastForwarded,
    MergeAborted,
    MergeConflicted,
    Merged,
    MergeFields,
    MergeOutcome,
    UpToDate,
)
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, ConversationHandle
from scopes.history.messages import count_messages, header_of, is_root, message_id_of, read_body
from scopes.history.revisions import (
    Revision,
    find_directory,
    list_branch_tips,
    read_active_branch,
    resolve_branch,
    resolve_conversation,
    resolve_revision_anywhere,
)
from scopes.history.session_branches import note_merged
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.automatic_resolution import Policy, read_policy
from scopes.merge.commits import merge_text, write_merge_commit, write_notice
from scopes.merge.divergence import state_of
from scopes.merge.earlier_resolutions import EarlierResolutions
from scopes.merge.in_progress import (
    PURPOSE,
    InProgress,
    abort,
    end_resolution,
    entry_finished,
    entry_in_progress,
    list_in_progress,
    list_order,
    read_merge_in_progress,
    read_others,
    require_resolved,
    require_resolved_on_branch,
    resolution_branch,
    restore_hint,
)
from scopes.merge.plan import MergePlan, adds_nothing, plan_merge, write_state
from scopes.merge.replay_state import require_no_rebase
from scopes.merge.requests import mark_merged
from scopes.merge.spellings import list_shown_spellings
from scopes.model.conversation import BranchEntry
from scopes.result import Note, plural
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.objects import Commit
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.transactions import exclusive_write

KIND = "merge"
_NAME_OTHER = "name another branch with --source or --target"
_OWN_KINDS = frozenset({"merge", "notice"})
_IN_ONE_PACK = 1000  # messages; from here on one pack is written and synced faster than many trees and a long list


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """How to merge.

    Attributes:
        strategy: What happens to conflicts: `automatic`, `ours` (the target's side), `theirs` or `manual`.
        fast_forward: Move the target without a merge message if it has no messages of its own.
        auto_priority: If priorities differ, take the higher one.
        strict: Also stop for files that both sides changed.
        allow_unrelated: Allow histories that have no message in common.
        message: The text of the merge message.
        record_copies: Write a merge message even if the target has copies of all messages; it completes a request.
        keep_active: Leave the active branch as it is: an agent merges while its user works in the conversation.
    """

    strategy: str = "automatic"
    fast_forward: bool = True
    auto_priority: bool = False
    strict: bool = False
    allow_unrelated: bool = False
    message: str | None = None
    record_copies: bool = False
    keep_active: bool = False


_DEFAULT_OPTIONS = MergeOptions()


def merge(
    repository: Repository,
    conversation: str,
    source: str,
    *,
    source_tip: Oid | None = None,
    target: str | None = None,
    options: MergeOptions | None = None,
    dry_run: bool = False,
    check: Callable[[], None] = lambda: None,
) -> MergeOutcome:
    """Merge `source` (a branch, or any revision of this or another conversation) into `target` (the active branch).

    If the source is the active branch, the target becomes active. `source_tip` is the commit of the source, if known;
    `source` is only its name then, which nothing is looked up by. `check` is called under the lock; if it raises,
    nothing is merged.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Invalid: source and target are the same branch, or there is no such strategy.
        Refused: the histories have nothing in common, a rule forbids it, or this merge is already in progress.
        Conflicted: a conflict of an earlier merge is open in one of the tips, and not resolved in the other.
    """
    chosen = options or _DEFAULT_OPTIONS
    policy = read_policy(repository.config, chosen.strategy, auto_priority=chosen.auto_priority, strict=chosen.strict)
    if dry_run:
        with bulk_objects(repository, keep=False) as objects:
            request = _resolve(repository, conversation, source, source_tip, target)
            plan = _plan(repository, objects, request, policy, unrelated=chosen.allow_unrelated)
            _require_resolved(objects, request, plan)
            return _preview(repository, objects, request, plan, chosen)
    with exclusive_write(repository):
        check()
        request = _resolve(repository, conversation, source, source_tip, target)
        request = replace(request, keep_active=chosen.keep_active)
        _require_not_in_progress(repository, request)
        require_no_rebase(repository, request.conversation, request.target)
        plan = _plan(repository, repository, request, policy, unrelated=chosen.allow_unrelated)
        _require_resolved(repository, request, plan)
        if plan.up_to_date or (not chosen.record_copies and adds_nothing(repository, plan)):
            return UpToDate(**_merge_fields(request, plan), branch=request.target, tip=request.target_tip)
        if plan.fast_forward and chosen.fast_forward:
            return _fast_forward(repository, request, plan)
        message = chosen.message or merge_text(len(plan.messages))
        if plan.open_conflicts:
            return _stop(repository, request, plan, message)
        return _merge(repository, request, plan, message)


def continue_merge(repository: Repository, conversation: str, branch: str | None = None) -> MergeOutcome:
    """Merge the conflict-resolution branch into the target, which may have moved in the meantime.

    Raises:
        NotFound, Ambiguous: no merge is in progress, or several are and no branch is named; or the target was deleted.
        Conflicted: a conflict is still open.
        Refused: the conflict-resolution branch was rewound behind its merge commit.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        in_progress = read_merge_in_progress(repository, conversation_id, branch)
        _require_merge_commit(repository, in_progress)
        require_resolved_on_branch(repository, in_progress)
        target_tip = list_branch_tips(repository, conversation_id).get(in_progress.target)
        if target_tip is None:
            raise NotFound(
                f"the target {conversation_id}/{in_progress.target} was deleted",
                hint=restore_hint(repository, conversation_id, in_progress.target)
                + f", or abort the merge: scopes merge {quote(conversation_id)} --abort",
            )
        request = _Request(conversation_id, in_progress.target, target_tip, in_progress.source, in_progress.tip)
        policy = read_policy(repository.config, "automatic")
        plan = _plan(repository, repository, request, policy)
        if plan.open_conflicts:
            return _stop_again(repository, request, plan, in_progress)
        return _finish(repository, request, plan, in_progress)


def abort_merge(repository: Repository, conversation: str, branch: str | None = None) -> MergeAborted:
    """Delete the conflict-resolution branch of a merge; the branch that was active before becomes active again.

    Raises:
        NotFound, Ambiguous: no merge is in progress, or there are several and no branch is named.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        in_progress = read_merge_in_progress(repository, conversation_id, branch)
        active, operation, notes = abort(repository, in_progress)
    return MergeAborted(
        conversation=conversation_id,
        branch=in_progress.branch,
        active_branch=active,
        operation=operation.id,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """What is merged into what; `source` is its name as text."""

    conversation: ConversationId
    target: BranchName
    target_tip: Oid
    source: str
    source_tip: Oid
    keep_active: bool = False


def _resolve(
    repository: Repository, conversation: str, source: str, source_tip: Oid | None, target: str | None
) -> _Request:
    """Resolve the names and check both tips."""
    conversation_id, name = resolve_branch(repository, conversation, target)
    revision = Revision(conversation_id, None, source_tip or Oid(""))
    if source_tip is None:
        revision = resolve_revision_anywhere(repository, source, conversation_id)
    handle = BranchHandle(ConversationHandle(repository, conversation_id), name)
    tip = handle.tip
    if (revision.conversation, revision.branch, revision.oid) == (conversation_id, name, tip):
        if target is not None:
            raise Invalid(f"{name} cannot be merged into itself", hint=_NAME_OTHER)
        raise Invalid(
            f"{name} cannot be merged into itself: it is the active branch, which is the default target",
            hint=f"scopes merge {quote(conversation_id)} {quote(name)} --target {quote(handle.parent or 'BRANCH')}",
        )
    tips = list_branch_tips(repository, revision.conversation)
    whole = revision.branch is not None and tips.get(revision.branch) == revision.oid
    source_name = revision.branch if whole and revision.branch else source
    if revision.conversation != conversation_id:
        source_name = f"{revision.conversation}/{revision.branch}" if whole else source
    return _Request(conversation_id, name, tip, source_name, revision.oid)


def _plan(
    repository: Repository, objects: Objects, request: _Request, policy: Policy, *, unrelated: bool = False
) -> MergePlan:
    tips = request.target_tip, request.source_tip
    directory = find_directory(repository, request.conversation)
    earlier = EarlierResolutions(repository, request.conversation, *tips)
    return plan_merge(repository, objects, *tips, policy, earlier=earlier, unrelated=unrelated, directory=directory)


def _require_not_in_progress(repository: Repository, request: _Request) -> None:
    for in_progress in list_in_progress(repository, request.conversation):
        if (in_progress.kind, in_progress.source, in_progress.target) == (KIND, request.source, request.target):
            raise Refused(
                f"a merge of {request.source} into {request.target} is in progress on {in_progress.branch}",
                hint=f"see what is open: scopes conflicts list {quote(request.conversation)}; "
                f"continue or abort it: scopes merge {quote(request.conversation)} --continue (or --abort)",
            )


def _require_resolved(objects: Objects, request: _Request, plan: MergePlan) -> None:
    """Refuse a merge whose state would inherit an open conflict; what only one side has resolved is resolved."""
    if plan.inherited:
        require_resolved(objects, request.conversation, request.source_tip, f"the source {request.source}")
        require_resolved(objects, request.conversation, request.target_tip, f"the target {request.target}")


def _require_merge_commit(repository: Repository, in_progress: InProgress) -> None:
    """Refuse to continue on a branch that was rewound behind its merge commit: the source would be lost."""
    if not is_ancestor(repository, in_progress.stopped, in_progress.tip):
        raise Refused(
            f"{in_progress.conversation}/{in_progress.branch} no longer contains its merge commit",
            hint=f"undo that: scopes undo, or abort it: scopes merge {quote(in_progress.conversation)} --abort",
        )


def _preview(
    repository: Repository, objects: Objects, request: _Request, plan: MergePlan, options: MergeOptions
) -> MergeOutcome:
    """Return the outcome of a dry run (S4-18)."""
    kind: type[UpToDate | FastForwarded | Merged | MergeConflicted] = Merged
    if plan.up_to_date or (not options.record_copies and adds_nothing(objects, plan)):
        kind = UpToDate
    elif plan.fast_forward and options.fast_forward:
        kind = FastForwarded
    elif plan.open_conflicts:
        kind = MergeConflicted
    fields = _merge_fields(request, plan)
    if kind in {FastForwarded, Merged}:
        fields = _moved_fields(repository, request, plan, dry_run=True)
    return kind(**fields, spellings=_read_spellings(objects, plan), branch=request.target, tip=None, dry_run=True)


def _fast_forward(repository: Repository, request: _Request, plan: MergePlan) -> FastForwarded:
    tx = Transaction(repository, request.conversation)
    tx.move_branch(request.target, request.target_tip, request.source_tip)
    active = _leave_source(tx, request, read_active_branch(repository, request.conversation), request.source_tip)
    _complete_requests(tx, request, request.source_tip)
    operation = tx.commit(KIND, f"merge {request.source} into {request.conversation}/{request.target} (fast-forward)")
    return FastForwarded(
        **_moved_fields(repository, request, plan),
        branch=request.target,
        tip=request.source_tip,
        operation=operation.id,
        active_branch=active,
    )


def _merge(repository: Repository, request: _Request, plan: MergePlan, text: str) -> Merged:
    parents = request.target_tip, request.source_tip
    is_large = len(plan.messages) >= _IN_ONE_PACK
    with bulk_objects(repository) if is_large else nullcontext(repository) as objects:
        state = write_state(objects, plan)
        message, tip = write_merge_commit(
            objects, parents, state, plan.messages, plan.conflicts, text, repository.caller.sign
        )
    tx = Transaction(repository, request.conversation)
    tx.move_branch(request.target, request.target_tip, tip)
    active = _leave_source(tx, request, read_active_branch(repository, request.conversation), tip)
    _complete_requests(tx, request, tip)
    operation = tx.commit(KIND, f"merge {request.source} into {request.conversation}/{request.target}")
    return Merged(
        **_moved_fields(repository, request, plan),
        branch=request.target,
        tip=tip,
        operation=operation.id,
        message=message,
        active_branch=active,
    )


def _complete_requests(tx: Transaction, request: _Request, tip: Oid) -> None:
    """Complete the merge requests for the source, unless only a part of it is merged."""
    if list_branch_tips(tx.repository, request.conversation).get(BranchName(request.source)) == request.source_tip:
        mark_merged(tx, request.source, request.target, tip)


def _leave_source(tx: Transaction, request: _Request, active: BranchName, tip: Oid) -> BranchName | None:
    """Make the target active if `active` is the source and `tip` has all its messages; return the target, else None."""
    own = list_branch_tips(tx.repository, request.conversation).get(active)
    if request.keep_active or active != request.source or own is None or not is_ancestor(tx.repository, own, tip):
        return None
    tx.activate(request.target)
    return request.target


def _stop(repository: Repository, request: _Request, plan: MergePlan, text: str) -> MergeConflicted:
    """Put the merge commit on a new conflict-resolution branch, which becomes active unless the request keeps it."""
    conversation, target, target_tip = request.conversation, request.target, request.target_tip
    notice = write_notice(repository, target_tip, request.source_tip, state_of(repository, target_tip))
    parents = notice, request.source_tip
    state = write_state(repository, plan)
    _, tip = write_merge_commit(repository, parents, state, plan.messages, plan.conflicts, text, repository.caller.sign)
    before = read_active_branch(repository, conversation)
    name = resolution_branch(list_branch_tips(repository, conversation), request.source, target)
    entry = BranchEntry(purpose=PURPOSE, parent=target, fork=target_tip, created=now())
    tx = Transaction(repository, conversation)
    tx.create_branch(name, tip)
    tx.set_branch_entry(name, _entry_in_progress(entry, request, before, tip))
    if not request.keep_active:
        tx.activate(name)
    summary = f"begin to merge {request.source} into {conversation}/{target}"
    operation = tx.commit("merge-conflict", summary, metadata_message=f"create {name}")
    fields, spellings = _merge_fields(request, plan), _read_spellings(repository, plan)
    others = read_others(repository, conversation, name)
    return MergeConflicted(**fields, spellings=spellings, branch=name, tip=tip, operation=operation.id, others=others)


def _stop_again(repository: Repository, request: _Request, plan: MergePlan, in_progress: InProgress) -> MergeConflicted:
    """Put the merge with the moved target on the same conflict-resolution branch, which becomes active again.

    What was resolved stays resolved.
    """
    parents = request.target_tip, in_progress.tip
    text = merge_text(len(plan.messages))
    state = write_state(repository, plan)
    _, tip = write_merge_commit(repository, parents, state, plan.messages, plan.conflicts, text, repository.caller.sign)
    tx = Transaction(repository, request.conversation)
    tx.move_branch(in_progress.branch, in_progress.tip, tip)
    tx.set_branch_entry(in_progress.branch, _entry_in_progress(in_progress.entry, request, in_progress.before, tip))
    tx.activate(in_progress.branch)
    operation = tx.commit(
        "merge-conflict",
        f"continue merge on {request.conversation}/{in_progress.branch}",
        metadata_message=f"continue merge on {in_progress.branch}",
    )
    fields, spellings = _merge_fields(request, plan), _read_spellings(repository, plan)
    branch = in_progress.branch
    others = read_others(repository, request.conversation, branch)
    return MergeConflicted(**fields, spellings=spellings, branch=branch, tip=tip, operation=operation.id, others=others)


def _finish(repository: Repository, request: _Request, plan: MergePlan, in_progress: InProgress) -> Merged:
    """Move the target to the conflict-resolution branch, or to a merge with it if the target has moved.

    The message of the outcome is the merge commit with the source, or the one with the target that has moved.
    """
    tip = in_progress.tip
    message = message_id_of(read_commit(repository, in_progress.stopped))
    if not plan.fast_forward:
        text = merge_text(len(plan.messages))
        state = write_state(repository, plan)
        parents = request.target_tip, tip
        message, tip = write_merge_commit(
            repository, parents, state, plan.messages, plan.conflicts, text, repository.caller.sign
        )
    tip_message = message_id_of(read_commit(repository, tip))
    tx = Transaction(repository, request.conversation)
    before = end_resolution(tx, in_progress, entry_finished(in_progress.entry, "merged"))
    active = _leave_source(tx, request, before, tip)
    tx.move_branch(in_progress.target, request.target_tip, tip)
    mark_merged(tx, in_progress.source, in_progress.target, tip)
    summary = f"merge {request.source} into {request.conversation}/{request.target}, its conflicts resolved"
    operation = tx.commit(KIND, summary, metadata_message=f"finish {in_progress.branch}")
    fields = _moved_fields(repository, request, plan)
    fields["messages"] = _without_own_notices(repository, plan, in_progress)
    fields["notes"] += _note_newer(repository, in_progress, tip)
    return Merged(
        **fields,
        branch=request.target,
        tip=tip,
        operation=operation.id,
        message=message,
        tip_message=None if tip_message == message else tip_message,
        active_branch=active,
        source_messages=count_messages(list_new_commits(repository, in_progress.source_tip, request.target_tip)),
    )


def _note_newer(repository: Repository, in_progress: InProgress, tip: Oid) -> tuple[Note, ...]:
    """Return a note if the source got messages since the merge stopped: those are not merged.

    The one that closed a collaboration says nothing new about it, and does not count.
    """
    own = list_branch_tips(repository, in_progress.conversation).get(BranchName(in_progress.source))
    new = [] if own is None else list(list_new_commits(repository, own, tip))
    count = count_messages(commit for commit in new if not _closes_collaboration(repository, commit))
    if not count:
        return ()
    verb = "is" if count == 1 else "are"
    text = f"{count} newer {plural(count, 'message')} of {in_progress.source} {verb} not merged"
    conversation, source, target = map(quote, (in_progress.conversation, in_progress.source, in_progress.target))
    return (Note(text, f"merge them: scopes merge {conversation} {source} --target {target}"),)


def _closes_collaboration(repository: Repository, commit: Commit) -> bool:
    match None if is_root(commit) else read_body(repository, commit).extra.get("collaboration"):
        case {"event": "close"}:
            return True
    return False


def _without_own_notices(repository: Repository, plan: MergePlan, in_progress: InProgress) -> tuple[MessageId, ...]:
    """Return the new messages without those that scopes wrote to the conflict-resolution branch (S4-11)."""
    heads = map(header_of, plan.divergence.source.commits)
    written = [head for head in heads if head.author_kind == "system" and head.kind in _OWN_KINDS]
    own = {head.id for head in written if not is_ancestor(repository, head.oid, in_progress.source_tip)}
    return tuple(message for message in plan.messages if message not in own)


def _entry_in_progress(entry: BranchEntry, request: _Request, before: BranchName, stopped: Oid) -> BranchEntry:
    return entry_in_progress(
        entry,
        kind=KIND,
        target=request.target,
        target_tip=request.target_tip,
        source=request.source,
        source_tip=request.source_tip,
        before=before,
        stopped=stopped,
    )


def _read_spellings(objects: Objects, plan: MergePlan) -> dict[str, tuple[str, ...]]:
    """Return the keys of both sides by the key of an open conflict, if they spell its topic differently."""
    states = plan.divergence.target.state, plan.divergence.source.state
    keys = {conflict.key for conflict in plan.conflicts if conflict.status != "resolved"}
    return {key: found for key in keys if (found := list_shown_spellings(objects, states, key))}


def _moved_fields(repository: Repository, request: _Request, plan: MergePlan, *, dry_run: bool = False) -> MergeFields:
    """Return the fields of a merge that moves its target, which may have been the branch of a session."""
    fields = _merge_fields(request, plan)
    target = ConversationHandle(repository, request.conversation).branch(request.target)
    fields["notes"] += note_merged(target, request.target_tip, request.source, dry_run=dry_run)
    return fields


def _merge_fields(request: _Request, plan: MergePlan) -> MergeFields:
    return {
        "conversation": request.conversation,
        "source": request.source,
        "target": request.target,
        "messages": plan.messages,
        "conflicts": tuple(sorted(plan.conflicts, key=lambda each: (each.status == "resolved", list_order(each)))),
        "files": plan.files,
        "notes": plan.notes,
    }
