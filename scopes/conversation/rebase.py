"""`rebase` and `cherry-pick`: replay messages on top of another base, with the same ids and new commits (S4-20).

The branch moves once, after all messages are replayed. A conflict stops it on a conflict-resolution branch until
`--continue` or `--skip` replays the rest; `merge.replay` plans what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote
from typing import Any, TypeAlias, TypeVar

from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.messages import message_id_of
from scopes.history.metadata import is_same_branch, read_metadata
from scopes.history.names import MAIN, Revision, find_root_commit, resolve_conversation, resolve_revision_anywhere
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.in_progress import (
    NO_OTHERS,
    OthersInProgress,
    abort,
    end_resolution,
    entry_finished,
    find_in_progress,
    moving_branch,
    read_moving_tip,
    read_others,
    require_free,
    require_resolved,
    require_resolved_on_branch,
    sides_of,
    stop,
)
from scopes.merge.plan import open_conflicts_at
from scopes.merge.replay import (
    ReplayPlan,
    ReplayState,
    Rewrite,
    Stop,
    list_written,
    plan_line,
    plan_picks,
    plan_rebase,
    read_replay,
    replay_details,
)
from scopes.merge.resolve import Policy, read_policy, with_earlier
from scopes.model.canonical_json import without_none
from scopes.model.conflicts import Conflict, number_conflicts
from scopes.model.conversation import BranchEntry, branch_id
from scopes.result import Lines, Note, Result, counted, plural, short_id
from scopes.store.graph import is_ancestor, list_merge_bases, list_new_commits, walk_newest_first
from scopes.store.objects import Commit, Objects, read_commit
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

REBASE, CHERRY_PICK = "rebase", "cherry-pick"
_LISTED = 20  # messages of a dry run on a terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReplayResult(Result):
    """The fields that the outcomes of a rebase or cherry-pick have in common.

    Attributes:
        kind: "rebase" or "cherry-pick".
        moved_branch: The branch that gets the messages: of a rebase its own branch, of a cherry-pick the target.
        onto: The new base of a rebase as text; None for a cherry-pick.
        branch: The branch that holds the result; after a stop the conflict-resolution branch.
        replayed: The replayed messages, oldest first.
        conflicts: The open conflicts, then the automatically resolved ones.
        dry_run: True if nothing was written.
        others: What else is in progress.
    """

    kind: str
    conversation: ConversationId
    moved_branch: BranchName
    onto: str | None = None
    branch: BranchName
    tip: Oid | None
    replayed: tuple[Rewrite, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dry_run: bool = False
    operation: OperationId | None = None
    others: OthersInProgress = NO_OTHERS

    @property
    def place(self) -> str:
        """The conversation and the branch that gets the messages, as people see them."""
        return f"{self.conversation}/{self.moved_branch}"

    @property
    def answer(self) -> str:
        """The branch that gets the messages."""
        return self.moved_branch

    @property
    def remark(self) -> Lines:
        """What a dry run found."""
        return self.sentence if self.dry_run else ""

    @property
    def outcome(self) -> str:
        """`result` in the JSON."""
        return "up-to-date"

    def document(self) -> dict[str, object]:
        """Return what every outcome has (S4-20)."""
        is_rebase = self.kind == REBASE
        return without_none(
            kind=self.kind,
            result=self.outcome,
            conversation=self.conversation,
            source=self.moved_branch if is_rebase else None,
            onto=self.onto if is_rebase else None,
            target=None if is_rebase else self.moved_branch,
            branch=self.branch,
            tip=self.tip,
            messages=self.messages,
            map=[{"id": rewrite.id, "old": rewrite.old, "new": rewrite.new} for rewrite in self.replayed],
            conflicts=number_conflicts(self.conflicts, self.others.conflicts),
            operation=self.operation,
            dry_run=self.dry_run or None,
        )

    @property
    def messages(self) -> tuple[MessageId, ...]:
        """The ids of the replayed messages."""
        return tuple(rewrite.id for rewrite in self.replayed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayUpToDate(_ReplayResult):
    """Nothing was to be done."""

    @property
    def sentence(self) -> str:
        """What the branch has already."""
        if self.kind == REBASE:
            return f"{self.place} is already based on {self.onto}"
        return f"{self.place} already has these messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed(_ReplayResult):
    """All messages were replayed and the branch was moved."""

    @property
    def outcome(self) -> str:
        """`result` in the JSON."""
        return "rebased" if self.kind == REBASE else "picked"

    @property
    def sentence(self) -> list[str]:
        """How many messages were replayed, and where; of a dry run, with their old and new commits."""
        count, resolved = counted(len(self.replayed), "message"), len(self.conflicts)
        if self.kind == REBASE:
            rebased = f"{self.place} would be rebased" if self.dry_run else f"rebased {self.place}"
            lines = [f"{rebased} onto {self.onto}: {count}"]
        else:
            lines = [
                f"{count} would be picked onto {self.place}" if self.dry_run else f"picked {count} onto {self.place}"
            ]
        rewrites = self.replayed if self.dry_run else ()
        lines += [
            f"    {short_id(each.id)}  {short_id(each.old)} → {short_id(each.new)}" for each in rewrites[:_LISTED]
        ]
        lines += [f"    … and {len(rewrites) - _LISTED:,} more"] if len(rewrites) > _LISTED else []
        return [*lines, f"  resolved: {counted(resolved, 'conflict')}"] if resolved else lines

    @property
    def remark(self) -> str:
        """What a dry run found."""
        return self.sentence[0] if self.dry_run else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConflicted(_ReplayResult):
    """It stopped at the message `stopped`; `remaining` messages follow it."""

    stopped: MessageId
    remaining: int

    @property
    def outcome(self) -> str:
        """`result` in the JSON."""
        return "conflict"

    def document(self) -> dict[str, object]:
        """Return also the message that it stopped at, and the number of those after it."""
        return _ReplayResult.document(self) | {"stopped": self.stopped, "remaining": self.remaining}

    @property
    def exit_code(self) -> int:
        """Three: stopped on conflicts."""
        return 3


ReplayOutcome: TypeAlias = ReplayUpToDate | Replayed | ReplayConflicted


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAborted(Result):
    """A rebase or cherry-pick was aborted; `branch` was its conflict-resolution branch."""

    kind: str
    conversation: ConversationId
    moved_branch: BranchName
    branch: BranchName
    active_branch: BranchName
    operation: OperationId

    @property
    def sentence(self) -> str:
        """Which branch is active now."""
        return f"aborted the {self.kind} in {self.conversation}; the active branch is {self.active_branch}"

    def document(self) -> dict[str, object]:
        """Return the deleted branch and the active one."""
        return {
            "kind": f"{self.kind}-abort",
            "conversation": self.conversation,
            "source" if self.kind == REBASE else "target": self.moved_branch,
            "branch": self.branch,
            "active_branch": self.active_branch,
            "operation": self.operation,
        }


def rebase(
    repository: Repository,
    conversation: str,
    *,
    onto: str,
    onto_tip: Oid | None = None,
    branch: str | None = None,
    from_base: bool = False,
    dry_run: bool = False,
) -> ReplayOutcome:
    """Replay the own messages of a branch (default: the active one) on top of `onto`, a branch or any message.

    Its own messages are those after its fork point; with `from_base` all since the merge base with `onto`, as in git. A
    note has the number of messages that are left out. `onto_tip` is the commit of the new base if it is
    known; `onto` is only its name then.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Refused: the branch takes part in something in progress, or has a merge that cannot be replayed.
        Conflicted: the branch or the new base has open conflicts.
    """

    def prepare(objects: Objects) -> tuple[ReplayState, ReplayPlan]:
        state, fork = _resolve(repository, conversation, branch, onto, onto_tip)
        policy = read_policy(repository.config, "automatic")
        fork = None if from_base else fork
        plan = plan_rebase(repository, objects, state.original, fork, state.onto, policy)
        left_out = _left_out(repository, state, plan, onto, dry_run=dry_run)
        return state, replace(plan, notes=(*plan.notes, *left_out))

    return _begin(repository, prepare, dry_run=dry_run)


def continue_replay(
    kind: str, repository: Repository, conversation: str, branch: str | None = None, *, skip: bool = False
) -> ReplayOutcome:
    """Replay the rest on top of the conflict-resolution branch; with `skip` without the message that it stopped at.

    What was appended to the branch meanwhile comes last in a rebase; a cherry-pick is refused then.

    Raises:
        NotFound, Ambiguous: none is in progress, or there are several and no branch is named; or it was deleted.
        Conflicted: a conflict is still open.
        Refused: the branch was changed in the meantime in a way that the replay cannot include.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        in_progress = find_in_progress(repository, conversation_id, branch, kind)
        state, tip = read_replay(in_progress), in_progress.target_tip
        if not skip:
            require_resolved_on_branch(repository, in_progress)
            stopped = message_id_of(read_commit(repository, in_progress.stopped))
            moved = (*state.moved, Rewrite(stopped, in_progress.source_tip, in_progress.stopped))
            state, tip = replace(state, moved=moved), in_progress.tip
        current = read_moving_tip(repository, in_progress)
        plan_rest = _plan_rest_of_rebase if kind == REBASE else _plan_rest_of_picks
        state, plan = plan_rest(repository, state, tip, current, read_policy(repository.config, "automatic"))
        return _carry_out(repository, state, plan, current, status="abandoned" if skip else "merged")


def abort_replay(kind: str, repository: Repository, conversation: str, branch: str | None = None) -> ReplayAborted:
    """Delete the conflict-resolution branch; the branch that was to move is unchanged.

    Raises:
        NotFound, Ambiguous: none is in progress, or there are several and no branch is named.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        found = find_in_progress(repository, conversation_id, branch, kind)
        active, operation, notes = abort(repository, found)
    return ReplayAborted(
        kind=kind,
        conversation=conversation_id,
        moved_branch=moving_branch(found),
        branch=found.branch,
        active_branch=active,
        operation=operation.id,
        notes=notes,
    )


continue_rebase = partial(continue_replay, REBASE)
skip_rebase = partial(continue_replay, REBASE, skip=True)
abort_rebase = partial(abort_replay, REBASE)
continue_cherry_pick = partial(continue_replay, CHERRY_PICK)
skip_cherry_pick = partial(continue_replay, CHERRY_PICK, skip=True)
abort_cherry_pick = partial(abort_replay, CHERRY_PICK)


def _resolve(
    repository: Repository, conversation: str, branch: str | None, onto: str, onto_tip: Oid | None
) -> tuple[ReplayState, Oid | None]:
    """Resolve and check the names; return the state to begin with, and the fork point of the branch."""
    moving = StoreHandle(repository).branch(conversation, branch)
    conversation_id, name, tip = moving.conversation.id, moving.name, moving.tip
    require_free(repository, conversation_id, name)
    base = moving.conversation.revision(onto) if onto_tip is None else Revision(conversation_id, None, onto_tip)
    require_resolved(repository, conversation_id, tip, f"the branch {name}")
    require_resolved(repository, conversation_id, base.oid, f"the new base {_base_name(base, onto)}")
    state = ReplayState(
        kind=REBASE,
        conversation=conversation_id,
        branch=name,
        original=tip,
        source=name,
        target=_base_name(base, onto),
        onto=base.oid,
        parent=base.branch if base.branch != name else None,
    )
    return state, moving.entry.fork


def _left_out(
    repository: Repository, state: ReplayState, plan: ReplayPlan, onto: str, *, dry_run: bool
) -> tuple[Note, ...]:
    """Return a note about the messages that the branch loses because they are below its fork point."""
    if not plan.inherited:
        return ()
    handle = BranchHandle(ConversationHandle(repository, state.conversation), state.branch)
    parent = handle.entry.parent
    where = "before its fork point" if parent in (None, MAIN, onto) else f"of {parent}"
    verb, them = ("is", "it") if plan.inherited == 1 else ("are", "them")
    text = f"{plan.inherited} {plural(plan.inherited, 'message')} {where} {verb} left out"
    command = f"scopes rebase {quote(str(handle))} --onto {quote(onto)} --from-base"
    return (Note(text, f"to take {them} too: {'' if dry_run else 'scopes undo, then '}{command}"),)


def _base_name(base: Revision, text: str) -> str:
    return text if base.branch is None or "~" in text or "^" in text or "@{" in text else base.branch


def _plan_rest_of_rebase(
    repository: Repository, state: ReplayState, tip: Oid, current: Oid, policy: Policy
) -> tuple[ReplayState, ReplayPlan]:
    commits = [*(read_commit(repository, oid) for oid in state.todo), *_appended(repository, state, current)]
    new_in_target = list_new_commits(repository, tip, current, list_merge_bases(repository, tip, current))
    with bulk_objects(repository) as objects:
        written = list_written(repository, state, tip)
        plan = plan_line(repository, objects, tip, commits, new_in_target, policy, written)
    return replace(state, original=current), plan


def _appended(repository: Repository, state: ReplayState, current: Oid) -> Sequence[Commit]:
    """Return what was appended to the branch since the replay began.

    Raises:
        Refused: the branch was moved otherwise.
    """
    if not is_ancestor(repository, state.original, current):
        raise _moved_since(state)
    return list_new_commits(repository, current, state.original, (state.original,))


def _moved_since(state: ReplayState) -> Refused:
    hint = f"abort it: scopes {quote(state.kind)} {quote(state.conversation)} --abort, and start again"
    return Refused(f"{state.conversation}/{state.branch} was moved since the {state.kind} began", hint=hint)


def cherry_pick(
    repository: Repository,
    conversation: str,
    messages: Sequence[str],
    *,
    branch: str | None = None,
    dry_run: bool = False,
) -> ReplayOutcome:
    """Replay messages in the given order on top of a branch (default: the active one), except those it has already.

    Raises:
        NotFound, Ambiguous: there is no such conversation, branch or message.
        Refused: the branch takes part in something in progress, or one of the messages is a merge.
        Conflicted: the branch or a message has open conflicts.
    """

    def prepare(objects: Objects) -> tuple[ReplayState, ReplayPlan]:
        state, commits, notes = _resolve_picks(repository, conversation, messages, branch)
        policy = read_policy(repository.config, "automatic")
        plan = plan_picks(repository, objects, state.original, commits, policy)
        return state, replace(plan, notes=(*notes, *plan.notes))

    return _begin(repository, prepare, dry_run=dry_run)


def _resolve_picks(
    repository: Repository, conversation: str, messages: Sequence[str], branch: str | None
) -> tuple[ReplayState, list[Commit], tuple[Note, ...]]:
    """Resolve and check the names; return the state to begin with, and the commits that the branch does not have."""
    target = StoreHandle(repository).branch(conversation, branch)
    conversation_id, name, tip = target.conversation.id, target.name, target.tip
    require_free(repository, conversation_id, name)
    require_resolved(repository, conversation_id, tip, f"the branch {name}")
    revisions = (resolve_revision_anywhere(repository, text, conversation_id) for text in messages)
    oids = dict.fromkeys(each.oid for each in revisions)
    commits = [read_commit(repository, oid) for oid in oids]
    for commit in commits:
        _require_pickable(repository, commit)
    known = {message_id_of(commit) for commit in walk_newest_first(repository, [tip])}
    new = {message_id_of(commit): commit for commit in commits if message_id_of(commit) not in known}
    present = [message_id_of(commit)[:8] for commit in commits if message_id_of(commit) in known]
    notes = (Note(f"{conversation_id}/{name} already contains: {', '.join(present)}"),) if present else ()
    state = ReplayState(
        kind=CHERRY_PICK,
        conversation=conversation_id,
        branch=name,
        original=tip,
        source=", ".join(message[:8] for message in new) or "nothing",
        target=name,
        onto=tip,
    )
    return state, list(new.values()), notes


def _require_pickable(repository: Repository, commit: Commit) -> None:
    name = message_id_of(commit)[:8]
    if not commit.parents:
        raise NotFound(f"{name} is the root of a conversation", hint="name a message: scopes log")
    if len(commit.parents) > 1:
        raise Refused(f"{name} is a merge", hint="pick the messages that it merged, or merge: scopes merge")
    if open_conflicts_at(repository, commit.oid):
        raise Conflicted(
            f"{name} has open conflicts, and a later message resolves them",
            hint="merge the branch that both are on: scopes merge",
        )


def _plan_rest_of_picks(
    repository: Repository, state: ReplayState, tip: Oid, current: Oid, policy: Policy
) -> tuple[ReplayState, ReplayPlan]:
    if current != state.original:
        raise _moved_since(state)
    commits = [read_commit(repository, oid) for oid in state.todo]
    with bulk_objects(repository) as objects:
        return state, plan_picks(repository, objects, tip, commits, policy, list_written(repository, state, tip))


def _begin(
    repository: Repository, prepare: Callable[[Objects], tuple[ReplayState, ReplayPlan]], *, dry_run: bool
) -> ReplayOutcome:
    """Plan a replay and carry it out; `prepare` resolves names and writes the objects of the plan."""
    if not dry_run:
        with exclusive_write(repository):
            with bulk_objects(repository) as objects:
                state, plan = prepare(objects)
            return _carry_out(repository, state, plan, state.original)
    with bulk_objects(repository, keep=False) as objects:
        state, plan = prepare(objects)
    plain: dict[str, Any] = {"tip": None, "dry_run": True}
    if plan.stop is not None:
        plain |= {"replayed": plan.moved, "stopped": plan.stop.id, "remaining": len(plan.todo)}
        return _outcome(repository, ReplayConflicted, state, plan, **plain)
    if plan.tip == state.original:
        return _outcome(repository, ReplayUpToDate, state, plan, **plain)
    return _outcome(repository, Replayed, state, plan, replayed=plan.moved, **plain)


def _carry_out(
    repository: Repository, state: ReplayState, plan: ReplayPlan, current: Oid, *, status: str = "merged"
) -> ReplayOutcome:
    """Move the branch from `current` to the end of the plan, or stop where the plan stops; its objects are written."""
    state = replace(state, moved=(*state.moved, *plan.moved))
    if plan.stop is not None:
        return _stop(repository, state, plan, plan.stop)
    where = f"{state.conversation}/{state.branch}"
    if plan.tip == current and state.in_progress is None:
        return _outcome(repository, ReplayUpToDate, state, plan, tip=plan.tip)
    tx = Transaction(repository, state.conversation)
    tx.move_branch(state.branch, current, plan.tip)
    if state.in_progress is not None:
        end_resolution(tx, state.in_progress, entry_finished(state.in_progress.entry, status))
    rewrites = (*state.moved, *plan.present)
    details: dict[str, Any] = {"map": {each.old: each.new for each in rewrites if each.old != each.new}}
    if state.kind == REBASE:
        summary = f"rebase {where} onto {state.target}"
        details |= {"onto": state.onto, "dropped": list(plan.dropped)}
        _set_fork(tx, state)
    else:
        done = f"pick {len(state.moved)}" if state.moved else f"skip {state.source}"
        summary = f"{done} for {where}"
    operation = tx.commit(state.kind, summary, metadata_message=f"{state.kind} {state.branch}", details=details)
    return _outcome(repository, Replayed, state, plan, tip=plan.tip, replayed=state.moved, operation=operation.id)


def _stop(repository: Repository, state: ReplayState, plan: ReplayPlan, stopped: Stop) -> ReplayConflicted:
    """Put a message with conflicts on the conflict-resolution branch, which is created at the first stop."""
    tx, in_progress = Transaction(repository, state.conversation), state.in_progress
    document = {"kind": state.kind, "target": state.target, "target_tip": stopped.parent, "source": state.source}
    document |= {"source_tip": stopped.old, "stopped": stopped.new, **replay_details(state, plan.todo)}
    name = stop(tx, in_progress, document, activate=in_progress is None)
    where = f"{state.conversation}/{state.branch}"
    what = f"rebase {where} onto {state.target}" if state.kind == REBASE else f"pick {stopped.id[:8]} for {where}"
    operation = tx.commit(
        f"{state.kind}-conflict",
        f"stop to {what}",
        metadata_message=f"stop on {name}",
        details={} if in_progress is None else sides_of(in_progress),
    )
    return _outcome(
        repository,
        ReplayConflicted,
        state,
        plan,
        branch=name,
        tip=stopped.new,
        replayed=state.moved,
        stopped=stopped.id,
        remaining=len(plan.todo),
        operation=operation.id,
        others=read_others(repository, state.conversation, name),
    )


def _set_fork(tx: Transaction, state: ReplayState) -> None:
    """Set fork point and parent; main keeps the root, and a branch above what a remote has of it its fork point."""
    if state.branch == MAIN:
        return
    repository, conversation = tx.repository, state.conversation
    entry = read_metadata(repository, conversation).branches.get(state.branch, BranchEntry())
    root = find_root_commit(repository, conversation)
    if not is_same_branch(repository, root, state.target, branch_id(state.branch, entry)):
        tx.set_branch_entry(state.branch, replace(entry, fork=state.onto, parent=state.parent or entry.parent))


_AnyOutcome = TypeVar("_AnyOutcome", bound=_ReplayResult)


def _outcome(
    repository: Repository, kind: type[_AnyOutcome], state: ReplayState, plan: ReplayPlan, **fields: Any
) -> _AnyOutcome:
    """Return an outcome with what every one has of a plan."""
    sources = () if plan.stop is None else (plan.stop.old,)  # perhaps of another conversation
    conflicts = with_earlier(repository, state.conversation, plan.conflicts, state.onto, *sources)
    plain: dict[str, Any] = {"branch": state.branch, "notes": plan.notes, **fields}
    return kind(
        kind=state.kind,
        conversation=state.conversation,
        moved_branch=state.branch,
        onto=state.target if state.kind == REBASE else None,
        conflicts=conflicts,
        **plain,
    )
