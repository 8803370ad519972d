"""`merge`: merge a branch, continue or abort a merge that stopped (S4-9); `merge-requests`: ask for a merge (S4-21).

A merge that stops puts its commit on a conflict-resolution branch; the target does not move before `--continue`.
A request is data in the metadata of its conversation. It is merged when the target has its source, however that came
about: the operation of a merge records it, and what other commands or machines merged is found when it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, TypeAlias, TypeVar

from scopes.clock import new_id, now
from scopes.errors import Ambiguous, Invalid, NotFound, Refused, ScopesError
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.messages import check_author, count_messages, header_of, is_root, message_id_of, read_body
from scopes.history.metadata import read_metadata
from scopes.history.names import (
    HEADS_FORM,
    Revision,
    find_directory,
    list_branch_tips,
    read_active_branch,
    resolve_branch,
    resolve_conversation,
    resolve_revision_anywhere,
)
from scopes.history.sessions import note_taken
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.compare import state_of
from scopes.merge.files import FileComparison
from scopes.merge.in_progress import (
    NO_OTHERS,
    InProgress,
    OthersInProgress,
    abort,
    end_resolution,
    entry_finished,
    find_in_progress,
    list_in_progress,
    read_moving_tip,
    read_others,
    require_free,
    require_resolved,
    require_resolved_on_branch,
    stop,
)
from scopes.merge.keys import display_key
from scopes.merge.plan import (
    MergePlan,
    adds_nothing,
    merge_text,
    plan_merge,
    write_merge_commit,
    write_notice,
    write_state,
)
from scopes.merge.resolve import Policy, read_policy, with_earlier
from scopes.model.canonical_json import without_none
from scopes.model.conflicts import Conflict, number_conflicts
from scopes.model.conversation import CLOSED, OPEN, REQUEST_STATES, MergeRequest
from scopes.model.conversation import MERGED_REQUEST as MERGED
from scopes.model.message import Author
from scopes.result import INLINE, OMIT_EMPTY, Column, Note, Result, plural, written_by
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.objects import Objects, read_commit
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult(Result):
    """The fields that the outcomes of a merge have in common (S4-9).

    Attributes:
        branch: The branch that holds the result; after a stop the conflict-resolution branch.
        messages: The messages that are new in the target, oldest first.
        conflicts: The open conflicts in the order of their numbers, then the automatically resolved ones.
        files: What both sides did to the files that both changed, sorted by path.
        dry_run: True if nothing was written.
        active_branch: The target, if the merge made it the active branch because the active one was merged into it.
        others: What else is in progress: commands then have to name the branch, and conflicts by number.
    """

    outcome = ""  # `result` in the JSON

    conversation: ConversationId
    source: str
    target: BranchName
    branch: BranchName
    tip: Oid | None
    messages: tuple[MessageId, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    files: tuple[FileComparison, ...] = ()
    dry_run: bool = False
    operation: OperationId | None = None
    active_branch: BranchName | None = None
    others: OthersInProgress = NO_OTHERS

    def document(self) -> dict[str, object]:
        """Return what every outcome has (S4-9)."""
        return without_none(
            kind=KIND,
            result=self.outcome,
            conversation=self.conversation,
            source=self.source,
            target=self.target,
            branch=self.branch,
            tip=self.tip,
            merged_messages=self.messages,
            conflicts=number_conflicts(self.conflicts, self.others.conflicts),
            files=self.files or None,
            operation=self.operation,
            dry_run=self.dry_run or None,
            active_branch=self.active_branch,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpToDate(MergeResult):
    """The target already has all messages of the source."""

    outcome = "up-to-date"


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwarded(MergeResult):
    """The target had no messages of its own and moved to the tip of the source (S4-10)."""

    outcome = "fast-forward"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(MergeResult):
    """The target moved to a merge commit; `message` is its id.

    `source_messages` is the number of messages that came from the source, if `messages` has others too: those of the
    conflict-resolution branch.
    """

    outcome = "merged"

    message: MessageId | None = None
    source_messages: int | None = None

    def document(self) -> dict[str, object]:
        """Return also the id of the merge message."""
        return MergeResult.document(self) | without_none(message=self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflicted(MergeResult):
    """The merge stopped on conflicts (S4-16, S4-17); the target did not move."""

    outcome = "conflict"

    def document(self) -> dict[str, object]:
        """Return also that the conflicts have to be resolved."""
        return MergeResult.document(self) | {"resolution_required": True}

    @property
    def exit_code(self) -> int:
        """Three: stopped on conflicts."""
        return 3


MergeOutcome: TypeAlias = UpToDate | FastForwarded | Merged | MergeConflicted
_Kind: TypeAlias = type[UpToDate | FastForwarded | Merged | MergeConflicted]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAborted(Result):
    """A merge was aborted; `branch` was its conflict-resolution branch, which `undo` restores."""

    kind = "merge-abort"

    conversation: ConversationId
    branch: BranchName
    active_branch: BranchName
    operation: OperationId

    @property
    def sentence(self) -> str:
        """Which branch is active now."""
        return f"aborted the merge in {self.conversation}; the active branch is {self.active_branch}"


KIND = "merge"
_MOVING: frozenset[type[Result]] = frozenset({FastForwarded, Merged})
_OWN_KINDS = frozenset({"merge", "notice"})  # of messages that scopes writes to a conflict-resolution branch
_IN_ONE_PACK = 1000  # messages; from here on one pack is written and synced faster than many trees and a long list


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """How to merge.

    Attributes:
        strategy: What happens to conflicts: `automatic`, `ours` (the target's side), `theirs` or `manual`.
        fast_forward: Move the target without a merge message if it has no messages of its own.
        strict: Also stop for files that both sides changed.
        allow_unrelated: Allow histories that have no message in common.
        message: The text of the merge message.
        record_copies: Write a merge message even if the target has copies of all messages; it completes a request.
        keep_active: Leave the active branch as it is: an agent merges while its user works in the conversation.
    """

    strategy: str = "automatic"
    fast_forward: bool = True
    strict: bool = False
    allow_unrelated: bool = False
    message: str | None = None
    record_copies: bool = False
    keep_active: bool = False


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
    chosen = options or MergeOptions()
    policy = read_policy(repository.config, chosen.strategy, strict=chosen.strict)
    in_memory = bulk_objects(repository, keep=False) if dry_run else nullcontext(repository)
    with nullcontext() if dry_run else exclusive_write(repository), in_memory as objects:
        check()
        request = _resolve(repository, conversation, source, source_tip, target)
        request = replace(request, keep_active=chosen.keep_active)
        if not dry_run:
            stopped = _find_stopped(repository, request.conversation, request.source, request.target)
            if stopped is not None:
                raise Refused(
                    f"a merge of {request.source} into {request.target} is in progress on {stopped}",
                    hint=f"see what is open: scopes conflicts list {quote(request.conversation)}; "
                    f"continue or abort it: scopes merge {quote(request.conversation)} --continue (or --abort)",
                )
            require_free(repository, request.conversation, request.target, "rebase")
        plan = _plan(repository, objects, request, policy, unrelated=chosen.allow_unrelated)
        if plan.inherited:  # what only one side has resolved is resolved
            require_resolved(objects, request.conversation, request.source_tip, f"the source {request.source}")
            require_resolved(objects, request.conversation, request.target_tip, f"the target {request.target}")
        kind = _kind_of(objects, plan, chosen)
        if dry_run:  # S4-18
            notes = _notes_of_move(repository, request, plan, dry_run=True) if kind in _MOVING else plan.notes
            return _outcome(repository, kind, request, plan, branch=request.target, tip=None, dry_run=True, notes=notes)
        if kind is UpToDate:
            return _outcome(repository, UpToDate, request, plan, branch=request.target, tip=request.target_tip)
        text = chosen.message or merge_text(len(plan.messages))
        if kind is MergeConflicted:
            return _stop(repository, request, plan, text)
        return _move(repository, request, plan, None if kind is FastForwarded else text)


def _kind_of(objects: Objects, plan: MergePlan, options: MergeOptions) -> _Kind:
    if plan.up_to_date or (not options.record_copies and adds_nothing(objects, plan)):
        return UpToDate
    if plan.fast_forward and options.fast_forward:
        return FastForwarded
    return MergeConflicted if plan.open_conflicts else Merged


def continue_merge(repository: Repository, conversation: str, branch: str | None = None) -> MergeOutcome:
    """Merge the conflict-resolution branch into the target, which may have moved in the meantime.

    Raises:
        NotFound, Ambiguous: no merge is in progress, or several are and no branch is named; or the target was deleted.
        Conflicted: a conflict is still open.
        Refused: the conflict-resolution branch was rewound behind its merge commit.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        in_progress = find_in_progress(repository, conversation_id, branch, KIND)
        require_resolved_on_branch(repository, in_progress)
        target_tip = read_moving_tip(repository, in_progress)
        request = _Request(conversation_id, in_progress.target, target_tip, in_progress.source, in_progress.tip)
        policy = read_policy(repository.config, "automatic")
        plan = _plan(repository, repository, request, policy)
        if plan.open_conflicts:
            return _stop(repository, request, plan, merge_text(len(plan.messages)), in_progress)
        return _finish(repository, request, plan, in_progress)


def abort_merge(repository: Repository, conversation: str, branch: str | None = None) -> MergeAborted:
    """Delete the conflict-resolution branch of a merge; the branch that was active before becomes active again.

    Raises:
        NotFound, Ambiguous: no merge is in progress, or there are several and no branch is named.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        in_progress = find_in_progress(repository, conversation_id, branch, KIND)
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
            raise Invalid(f"{name} cannot be merged into itself", hint="name another branch with --source or --target")
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
    return plan_merge(repository, objects, *tips, policy, unrelated=unrelated, directory=directory)


def _move(repository: Repository, request: _Request, plan: MergePlan, text: str | None) -> FastForwarded | Merged:
    """Move the target to a merge commit with a text, or without one to the source."""
    tip, fields = request.source_tip, dict[str, Any]()
    if text is not None:
        is_large = len(plan.messages) >= _IN_ONE_PACK
        with bulk_objects(repository) if is_large else nullcontext(repository) as objects:
            fields["message"], tip = _write_merge(
                repository, (request.target_tip, request.source_tip), plan, text, objects
            )
    tx = Transaction(repository, request.conversation)
    tx.move_branch(request.target, request.target_tip, tip)
    active = _leave_source(tx, request, read_active_branch(repository, request.conversation), tip)
    own = list_branch_tips(repository, request.conversation).get(BranchName(request.source))
    if own == request.source_tip:  # else only a part of the source is merged
        _mark_merged(tx, request.source, request.target, tip)
    how = " (fast-forward)" if text is None else ""
    operation = tx.commit(KIND, f"merge {request.source} into {request.conversation}/{request.target}{how}")
    kind: type[FastForwarded | Merged] = FastForwarded if text is None else Merged
    return _outcome(
        repository,
        kind,
        request,
        plan,
        notes=_notes_of_move(repository, request, plan),
        branch=request.target,
        tip=tip,
        operation=operation.id,
        active_branch=active,
        **fields,
    )


def _leave_source(tx: Transaction, request: _Request, active: BranchName, tip: Oid) -> BranchName | None:
    """Make the target active if `active` is the source and `tip` has all its messages; return the target, else None."""
    own = list_branch_tips(tx.repository, request.conversation).get(active)
    if request.keep_active or active != request.source or own is None or not is_ancestor(tx.repository, own, tip):
        return None
    tx.activate(request.target)
    return request.target


def _write_merge(
    repository: Repository, parents: tuple[Oid, Oid], plan: MergePlan, text: str, objects: Objects | None = None
) -> tuple[MessageId, Oid]:
    """Write the state and the commit of a merge; return its message and the commit."""
    to = objects or repository
    state = write_state(to, plan)
    return write_merge_commit(to, parents, state, plan.messages, plan.conflicts, text, repository.caller.sign)


def _stop(
    repository: Repository, request: _Request, plan: MergePlan, text: str, in_progress: InProgress | None = None
) -> MergeConflicted:
    """Put the merge commit on a new conflict-resolution branch, or on that of a merge whose target has moved.

    It becomes active, a new one unless the request keeps the active branch. What was resolved stays resolved.
    """
    tips = request.target_tip, request.source_tip
    if in_progress is None:
        notice = write_notice(repository, *tips, state_of(repository, request.target_tip))
        _, tip = _write_merge(repository, (notice, request.source_tip), plan, text)
    else:
        _, tip = _write_merge(repository, (request.target_tip, in_progress.tip), plan, text)
    tx = Transaction(repository, request.conversation)
    document = {"kind": KIND, "target": request.target, "target_tip": request.target_tip}
    document |= {"source": request.source, "source_tip": request.source_tip, "stopped": tip}
    name = stop(tx, in_progress, document, activate=in_progress is not None or not request.keep_active)
    summary, change = f"begin to merge {request.source} into {request.conversation}/{request.target}", f"create {name}"
    if in_progress is not None:
        summary, change = f"continue merge on {request.conversation}/{name}", f"continue merge on {name}"
    operation = tx.commit("merge-conflict", summary, metadata_message=change)
    others = read_others(repository, request.conversation, name)
    return _outcome(
        repository, MergeConflicted, request, plan, branch=name, tip=tip, operation=operation.id, others=others
    )


def _finish(repository: Repository, request: _Request, plan: MergePlan, in_progress: InProgress) -> Merged:
    """Move the target to the conflict-resolution branch, or to a merge with it if the target has moved.

    The message of the outcome is the merge commit with the source, or the one with the target that has moved.
    """
    tip = in_progress.tip
    message = message_id_of(read_commit(repository, in_progress.stopped))
    if not plan.fast_forward:
        message, tip = _write_merge(repository, (request.target_tip, tip), plan, merge_text(len(plan.messages)))
    tx = Transaction(repository, request.conversation)
    before = end_resolution(tx, in_progress, entry_finished(in_progress.entry, "merged"))
    active = _leave_source(tx, request, before, tip)
    tx.move_branch(in_progress.target, request.target_tip, tip)
    _mark_merged(tx, in_progress.source, in_progress.target, tip)
    heads = map(header_of, plan.divergence.source.commits)
    notices = [head for head in heads if head.author_kind == "system" and head.kind in _OWN_KINDS]
    own = {head.id for head in notices if not is_ancestor(repository, head.oid, in_progress.source_tip)}
    summary = f"merge {request.source} into {request.conversation}/{request.target}, its conflicts resolved"
    operation = tx.commit(KIND, summary, metadata_message=f"finish {in_progress.branch}")
    return _outcome(
        repository,
        Merged,
        request,
        plan,
        messages=tuple(message for message in plan.messages if message not in own),  # S4-11
        notes=(*_notes_of_move(repository, request, plan), *_note_newer(repository, in_progress, tip)),
        branch=request.target,
        tip=tip,
        operation=operation.id,
        message=message,
        active_branch=active,
        source_messages=count_messages(list_new_commits(repository, in_progress.source_tip, request.target_tip)),
    )


def _note_newer(repository: Repository, in_progress: InProgress, tip: Oid) -> tuple[Note, ...]:
    """Return a note if the source got messages since the merge stopped: those are not merged.

    The one that closed a collaboration says nothing new about it, and does not count.
    """
    own = list_branch_tips(repository, in_progress.conversation).get(BranchName(in_progress.source))
    new = () if own is None else list_new_commits(repository, own, tip)
    extras = (None if is_root(commit) else read_body(repository, commit).extra.get("collaboration") for commit in new)
    closing = [isinstance(extra, dict) and extra.get("event") == "close" for extra in extras]
    count = count_messages(commit for commit, closes in zip(new, closing, strict=True) if not closes)
    if not count:
        return ()
    verb = "is" if count == 1 else "are"
    text = f"{count} newer {plural(count, 'message')} of {in_progress.source} {verb} not merged"
    conversation, source, target = map(quote, (in_progress.conversation, in_progress.source, in_progress.target))
    return (Note(text, f"merge them: scopes merge {conversation} {source} --target {target}"),)


_AnyOutcome = TypeVar("_AnyOutcome", bound=MergeResult)


def _outcome(
    repository: Repository, kind: type[_AnyOutcome], request: _Request, plan: MergePlan, **fields: Any
) -> _AnyOutcome:
    """Return an outcome with what every one has of a plan."""
    tips = request.target_tip, request.source_tip
    conflicts = with_earlier(repository, request.conversation, plan.conflicts, *tips)
    plain: dict[str, Any] = {"messages": plan.messages, "notes": plan.notes, **fields}
    return kind(
        conversation=request.conversation,
        source=request.source,
        target=request.target,
        conflicts=conflicts,
        files=plan.files,
        **plain,
    )


def _notes_of_move(
    repository: Repository, request: _Request, plan: MergePlan, *, dry_run: bool = False
) -> tuple[Note, ...]:
    """Return the notes of a merge that moves its target, which may have been the branch of a session."""
    target = ConversationHandle(repository, request.conversation).branch(request.target)
    cure = f"do not merge {request.source}" if dry_run else "scopes undo"
    return plan.notes + note_taken(target, request.target_tip, cure, is_planned=dry_run)


MAX_TITLE = 200
_MIN_PREFIX = 4
_OUTCOMES: dict[type[Result], str] = {
    UpToDate: "up-to-date", FastForwarded: "fast-forward", Merged: "merged", MergeConflicted: "conflict",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestRow:
    """A merge request with its state now."""

    conversation: ConversationId
    request: MergeRequest = field(metadata=INLINE)
    state: str

    @property
    def branches(self) -> str:
        """The source and the target."""
        return f"{self.request.source} into {self.request.target}"

    @property
    def merge_it(self) -> str:
        """The command that merges it."""
        return f"merge it: scopes merge {quote(self.conversation)} mr/{self.request.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestList(Result):
    """Merge requests, newest first."""

    rows_in = "merge_requests"
    columns = (
        Column("conversation"),
        Column("number"),
        Column("id", "ID", on="pipe"),
        Column("state", form="state"),
        Column("title"),
        Column("source", on="pipe"),
        Column("target", on="pipe"),
        Column("branches", on="terminal"),
        Column("requester"),
        Column("opened", on="pipe"),
        Column("opened", form="time", on="terminal"),
    )
    empty = "no merge requests"

    merge_requests: tuple[MergeRequestRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestChanged(Result):
    """A merge request that was opened or closed; `change` is `opened` or `closed`."""

    kind = "merge-request"

    row: MergeRequestRow = field(metadata=INLINE)
    change: str
    operation: OperationId

    @property
    def sentence(self) -> str:
        """What was opened or closed."""
        return f"merge request {self.row.request.number} {self.change}: {self.row.branches}"

    @property
    def answer(self) -> str:
        """The number of the request."""
        return str(self.row.request.number)

    @property
    def next_step(self) -> str:
        """How to merge an opened one."""
        return self.row.merge_it if self.change == "opened" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestView(Result):
    """A merge request, and what its merge would do now.

    Attributes:
        outcome: `up-to-date`, `fast-forward`, `merged` or `conflict`; None if it is not open or `problem` prevents it.
        messages: How many messages would be new in the target.
        conflicts: The conflicts that the merge would have.
        files: What both sides did to the files that both changed.
        gone: The branches of the request that do not exist any more.
        in_progress: The conflict-resolution branch, if the merge has stopped on conflicts.
        problem: Why it cannot be merged.
    """

    kind = "merge-request"
    columns = (
        Column("number"),
        Column("state", form="state"),
        Column("title"),
        Column("row.branches"),
        Column("conversation"),
        Column("requester"),
        Column("opened", form="time"),
        Column("id", "ID", "id"),
        Column("ended", form="time"),
        Column("ended_by"),
        Column("reason"),
        Column("gone"),
        Column("in_progress"),
        Column("forecast", "Merge"),
        Column("message", form="body"),
        Column("conflict_names", "Conflicts", "lines"),
        Column("file_verdicts", "Changed on both sides", "lines"),
    )

    row: MergeRequestRow = field(metadata=INLINE)
    outcome: str | None = None
    messages: int | None = None
    conflicts: tuple[Conflict, ...] = field(default=(), metadata=written_by(number_conflicts))
    files: tuple[FileComparison, ...] = field(default=(), metadata=OMIT_EMPTY)
    gone: tuple[BranchName, ...] = ()
    in_progress: BranchName | None = None
    problem: str | None = None

    @property
    def forecast(self) -> str:
        """What a merge would do now."""
        if self.row.state != OPEN:
            return ""
        if self.problem is not None:
            return f"not possible: {self.problem}"
        if self.outcome == "conflict":
            return f"would stop on {len(self.conflict_names)} {plural(len(self.conflict_names), 'conflict')}"
        count = f", {self.messages} {plural(self.messages, 'message')}" if self.messages else ""
        return f"{_FORECASTS.get(self.outcome or '', '')}{count}"

    @property
    def conflict_names(self) -> list[str]:
        """The type and the key of each conflict that a merge would stop on."""
        return [f"{each.type} {display_key(each.key)}" for each in self.conflicts if each.resolution is None]

    @property
    def file_verdicts(self) -> list[str]:
        """What both sides made of each file, if the merge is not trivial."""
        trivial = self.outcome in {"up-to-date", "fast-forward"}
        return [] if trivial else [f"{file.path}: {file.verdict}" for file in self.files]

    @property
    def next_step(self) -> str:
        """How to resolve or merge it."""
        if self.row.state != OPEN or self.problem is not None:
            return ""
        if self.in_progress is not None:
            return f"resolve it: scopes conflicts list {quote(self.row.conversation)}"
        return "" if self.outcome == "up-to-date" else self.row.merge_it


_FORECASTS = {
    "up-to-date": "has nothing to do: the target has all messages",
    "fast-forward": "would be a fast-forward",
    "merged": "would merge without conflicts",
}


def open_merge_request(
    repository: Repository,
    conversation: str,
    source: str,
    *,
    title: str,
    target: str = "main",
    message: str = "",
    requester: Author,
) -> MergeRequestChanged:
    """Open a request to merge the branch `source` into `target`.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch.
        Invalid: the branches are the same, or the title is empty or too long.
        Refused: there is nothing to merge, or such a request is open.
    """
    handle, title = StoreHandle(repository).conversation(conversation), _check_title(title)
    author = check_author(requester)
    with exclusive_write(repository):
        names = handle.branch(source).name, handle.branch(target).name
        tips = handle.tips
        if names[0] == names[1]:
            raise Invalid(f"{names[0]} cannot be merged into itself", hint="name another branch: --target BRANCH")
        requests = handle.metadata.requests.values()
        for other in requests:
            if (other.source, other.target) == names and _state_now(handle, other) == OPEN:
                hint = f"see: scopes mr show {quote(handle.id)} {other.number}"
                raise Refused(f"merge request {other.number} for {names[0]} into {names[1]} is open", hint=hint)
        if is_ancestor(repository, tips[names[0]], tips[names[1]]):
            raise Refused(f"{names[1]} already has all messages of {names[0]}", hint="there is nothing to merge")
        request = MergeRequest(
            id=new_id(),
            number=max((other.number for other in requests), default=0) + 1,
            source=names[0],
            target=names[1],
            title=title,
            message=message.strip(),
            requester=author.name,
            requester_kind=author.kind,
            source_tip=tips[names[0]],
            opened=now(),
        )
        return _store(handle, request, "opened")


def list_merge_requests(
    repository: Repository, conversation: str | None = None, *, state: str | None = None
) -> MergeRequestList:
    """List the merge requests of a conversation, or of all: the open ones, or those in `state`, which may be `all`.

    Raises:
        Invalid: there is no such state.
    """
    wanted = state or OPEN
    if wanted not in {*REQUEST_STATES, "all"}:
        raise Invalid(f"{wanted!a} is not a state of a merge request", hint=f"states: {', '.join(REQUEST_STATES)}, all")
    store = StoreHandle(repository)
    handles = list(store.conversations()) if conversation is None else [store.conversation(conversation)]
    rows = [_row(handle, request) for handle in handles for request in handle.metadata.requests.values()]
    rows = [row for row in rows if wanted in {row.state, "all"}]
    rows.sort(key=lambda row: (row.request.opened, row.conversation, row.request.number), reverse=True)
    return MergeRequestList(merge_requests=tuple(rows))


def show_merge_request(repository: Repository, conversation: str, name: str) -> MergeRequestView:
    """Show a merge request, and what its merge would do now; nothing is written.

    Raises:
        NotFound, Ambiguous: there is no such request, or several.
    """
    handle = StoreHandle(repository).conversation(conversation)
    row = _find(handle, name)
    request, tips = row.request, handle.tips
    gone = tuple(name for name in (request.source, request.target) if name not in tips)
    view = MergeRequestView(row=row, gone=gone)
    if row.state != OPEN:
        return view
    if gone:
        missing = f"branch {gone[0]} does not exist" if len(gone) == 1 else f"branches {', '.join(gone)} do not exist"
        return replace(view, problem=missing)
    stopped = _find_stopped(repository, handle.id, request.source, request.target)
    try:
        options = MergeOptions(record_copies=True)
        outcome = merge(
            repository, handle.id, HEADS_FORM + request.source, target=request.target, options=options, dry_run=True
        )
    except ScopesError as error:
        return replace(view, problem=error.message, in_progress=stopped)
    return replace(
        view,
        outcome=_OUTCOMES[type(outcome)],
        messages=len(outcome.messages),
        conflicts=outcome.conflicts,
        files=outcome.files,
        in_progress=stopped,
    )


def merge_request(
    repository: Repository, conversation: str, name: str, *, options: MergeOptions | None = None
) -> MergeOutcome:
    """Merge the source of a request into its target; raises as `merge` does.

    Raises:
        NotFound, Ambiguous: there is no such request, or several; or one of its branches does not exist.
        Refused: the request is closed or merged.
    """
    handle = StoreHandle(repository).conversation(conversation)
    request = _read_mergeable(handle, name)

    def check() -> None:  # somebody else may have closed or merged it meanwhile
        _read_mergeable(handle, request.id)

    options = replace(options or MergeOptions(), record_copies=True)
    return merge(
        repository, handle.id, HEADS_FORM + request.source, target=request.target, options=options, check=check
    )


def close_merge_request(
    repository: Repository, conversation: str, name: str, *, reason: str = "", author: Author
) -> MergeRequestChanged:
    """Close a merge request without merging it.

    Raises:
        NotFound, Ambiguous: there is no such request, or several.
        Refused: it is not open.
    """
    handle, closer = StoreHandle(repository).conversation(conversation), check_author(author)
    with exclusive_write(repository):
        row = _find(handle, name)
        request = row.request
        if row.state != OPEN:
            hint = _reopen_hint(handle, request, row.state)
            raise Refused(f"merge request {request.number} is already {row.state}", hint=hint)
        why = reason.strip() or None
        done = _store(handle, replace(request, state=CLOSED, ended=now(), ended_by=closer.name, reason=why), "closed")
        stopped = _find_stopped(repository, handle.id, request.source, request.target)
        if stopped is None:
            return done
        text = f"the merge of {request.source} into {request.target} is still in progress on {stopped}"
        abort = f"scopes merge {quote(f'{handle.id}/{stopped}')} --abort"
        return replace(done, notes=(*done.notes, Note(text, f"abort it: {abort}")))


def _find_stopped(
    repository: Repository, conversation: ConversationId, source: str, target: BranchName
) -> BranchName | None:
    """Return the conflict-resolution branch on which a merge has stopped; None if it has not."""
    for each in list_in_progress(repository, conversation):
        if (each.kind, each.source, each.target) == (KIND, source, target):
            return each.branch
    return None


def _read_mergeable(handle: ConversationHandle, name: str) -> MergeRequest:
    """Return a request that is open and whose branches exist; raises as `merge_request` does."""
    row = _find(handle, name)
    request, tips = row.request, handle.tips
    if row.state != OPEN:
        raise Refused(f"merge request {request.number} is {row.state}", hint=_reopen_hint(handle, request, row.state))
    for branch in (request.source, request.target):
        if branch not in tips:
            hint = f"close the request: scopes mr close {quote(handle.id)} {request.number}"
            raise NotFound(f"branch {branch} of merge request {request.number} does not exist", hint=hint)
    return request


def find_merge_request_anywhere(repository: Repository, name: str) -> ConversationId:
    """Return the conversation of a request that is named alone: by its number the latest one, else the one with the id.

    Raises:
        NotFound, Ambiguous: there is none, or several.
    """
    name = name.removeprefix("#")
    if name.isdecimal():
        latest = StoreHandle(repository).conversation("@")
        _find(latest, name)
        return latest.id
    found = [handle.id for handle in StoreHandle(repository).conversations() if _matching(handle, name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Ambiguous(f"{name!a} matches merge requests of {len(found)} conversations", hint="name the conversation")
    if name == resolve_conversation(repository, name):
        raise Invalid(f"{name} is a conversation", hint=f"name its merge request too: {name} 1")
    raise NotFound(f"there is no merge request {name!a}", hint="list them: scopes mr list")


def _check_title(title: str) -> str:
    line = " ".join(title.encode("utf-8", "replace").decode().split())
    if not line:
        raise Invalid("a merge request needs a title", hint="give one: -m TEXT")
    if len(line) > MAX_TITLE:
        raise Invalid(f"the title has {len(line)} characters", hint=f"at most {MAX_TITLE}; the rest on further lines")
    return line


def _row(handle: ConversationHandle, request: MergeRequest) -> MergeRequestRow:
    return MergeRequestRow(conversation=handle.id, request=request, state=_state_now(handle, request))


def _matching(handle: ConversationHandle, name: str) -> list[MergeRequest]:
    """Return the requests with this number or prefix of an id; requests of two machines may have one number."""
    requests = handle.metadata.requests.values()
    if name.isdecimal() and len(name) < _MIN_PREFIX:
        return [request for request in requests if request.number == int(name)]
    return [request for request in requests if str(request.number) == name or (name and request.id.startswith(name))]


def _find(handle: ConversationHandle, name: str) -> MergeRequestRow:
    found = _matching(handle, name.removeprefix("#"))
    if not found:
        hint = f"list them: scopes mr list {quote(handle.id)} --state all"
        raise NotFound(f"there is no merge request {name!a} in {handle.id}", hint=hint)
    if len(found) > 1:
        ids = ", ".join(request.id[:8] for request in found)
        raise Ambiguous(f"{name!a} matches {len(found)} merge requests", hint=f"name one by its id: {ids}")
    return _row(handle, found[0])


def _reopen_hint(handle: ConversationHandle, request: MergeRequest, state: str) -> str:
    if state == MERGED:
        return f"see: scopes mr show {quote(handle.id)} {request.number}"
    return f"open a new one: scopes mr open {quote(handle.id)} {quote(request.source)}"


def _store(handle: ConversationHandle, request: MergeRequest, change: str) -> MergeRequestChanged:
    tx = Transaction(handle.repository, handle.id)
    tx.set_request(request)
    verb = "open" if change == "opened" else "close"
    summary = f"{verb} merge request {request.number} of {handle.id}"
    operation = tx.commit("merge-request", summary, metadata_message=f"{verb} merge request {request.number}")
    row = MergeRequestRow(conversation=handle.id, request=request, state=request.state)
    return MergeRequestChanged(row=row, change=change, operation=operation.id)


def _mark_merged(tx: Transaction, source: str, target: BranchName, tip: Oid) -> None:
    """Record in the operation of a merge that it completes the open requests to merge `source` into `target`."""
    for request in read_metadata(tx.repository, tx.conversation).requests.values():
        if (request.state, request.source, request.target) == (OPEN, source, target):
            ended_by = tx.repository.caller.actor
            tx.set_request(replace(request, state=MERGED, ended=now(), ended_by=ended_by, merge=tip))


def _state_now(handle: ConversationHandle, request: MergeRequest) -> str:
    """Return the state of a request; merged also if the target has the source although no merge recorded it.

    A source that was rewound behind its tip of then is not merged.
    """
    repository, tips = handle.repository, handle.tips if request.state == OPEN else {}
    target, then = tips.get(request.target), request.source_tip
    if target is None:
        return request.state
    tip = tips.get(request.source, then)
    if not _is_known_ancestor(repository, tip, target):
        return OPEN
    was_rewound = tip != then and _is_known_ancestor(repository, tip, then)
    return OPEN if was_rewound and not _is_known_ancestor(repository, then, target) else MERGED


def _is_known_ancestor(repository: Repository, ancestor: Oid, tip: Oid) -> bool:
    """Return True if `ancestor` is reachable from `tip`; False if one of them is no commit of the store.

    A received request can name any object.
    """
    try:
        return is_ancestor(repository, ancestor, tip)
    except NotFound:
        return False
