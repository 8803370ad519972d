"""Begin a rebase or cherry-pick, and `--continue`, `--skip` or `--abort` one that stopped on conflicts.

Rebase and cherry-pick share this flow and its outcomes; what they do differently is in `ReplayVerb`. Which messages are
replayed is in `replay_plan`, the new commits are written in `rewrite`, the saved state is in `replay_state`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from scopes.history.revisions import resolve_conversation
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.automatic_resolution import read_policy
from scopes.merge.earlier_resolutions import EarlierResolutions
from scopes.merge.in_progress import (
    NO_OTHERS,
    OthersInProgress,
    abort,
    find_in_progress,
    list_order,
    moving_branch,
    read_others,
    sides_of,
)
from scopes.merge.replay_plan import ReplayPlan
from scopes.merge.replay_state import (
    REBASE,
    ReplayState,
    read_current_tip,
    read_replay,
    with_stop_applied,
    write_end,
    write_stop,
)
from scopes.merge.rewrite import ReplayRules, Rewrite, Stop
from scopes.model.conflicts import Conflict
from scopes.model.conversation import BranchEntry
from scopes.result import Note, Result
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Objects, Repository
from scopes.store.transactions import exclusive_write


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

    @property
    def messages(self) -> tuple[MessageId, ...]:
        """The ids of the replayed messages."""
        return tuple(rewrite.id for rewrite in self.replayed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayUpToDate(_ReplayResult):
    """Nothing was to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed(_ReplayResult):
    """All messages were replayed and the branch was moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConflicted(_ReplayResult):
    """It stopped at the message `stopped`; `remaining` messages follow it. `others` is what else is in progress."""

    stopped: MessageId
    remaining: int
    others: OthersInProgress = NO_OTHERS

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


class ReplayVerb(ABC):
    """What rebase and cherry-pick do differently."""

    kind: ClassVar[str]

    @abstractmethod
    def plan_rest(
        self, repository: Repository, state: ReplayState, tip: Oid, current: Oid, rules: ReplayRules
    ) -> tuple[ReplayState, ReplayPlan]:
        """Plan the remaining messages on top of `tip`; `current` is the present tip of the branch.

        Return the state with `original` set to `current`. Objects are written.

        Raises:
            Refused: the branch was changed in the meantime in a way that the replay cannot include.
        """

    @abstractmethod
    def stop_summary(self, state: ReplayState, stop: Stop) -> str:
        """Return the summary of the operation that stops at a message."""

    @abstractmethod
    def end_summary(self, state: ReplayState) -> str:
        """Return the summary of the operation that moves the branch."""

    def details(self, state: ReplayState, plan: ReplayPlan) -> dict[str, Any]:
        """Return the details of the operation that moves the branch: the new commit of each old one."""
        rewrites = (*state.moved, *plan.present)
        return {"map": {rewrite.old: rewrite.new for rewrite in rewrites if rewrite.old != rewrite.new}}

    def new_entry(self, repository: Repository, state: ReplayState) -> BranchEntry | None:
        """Return the new metadata entry of the branch; None to keep it."""
        del repository, state
        return None

    def end_notes(self, repository: Repository, state: ReplayState) -> tuple[Note, ...]:
        """Return notes about a branch that is about to move."""
        del repository, state
        return ()


def read_rules(repository: Repository, conversation: ConversationId, *tips: Oid) -> ReplayRules:
    """Return how conflicts are resolved on a conversation; `tips` are further commits with earlier resolutions.

    Raises:
        Invalid: a setting has a value that it cannot have.
    """
    policy = read_policy(repository.config, "automatic")
    earlier = EarlierResolutions(repository, conversation, *tips)
    return ReplayRules(policy, earlier)


def begin_replay(
    verb: ReplayVerb,
    repository: Repository,
    prepare: Callable[[Objects], tuple[ReplayState, ReplayPlan]],
    *,
    dry_run: bool,
) -> ReplayOutcome:
    """Plan a replay and carry it out; `prepare` resolves names and writes the objects of the plan."""
    if dry_run:
        with bulk_objects(repository, keep=False) as objects:
            state, plan = prepare(objects)
        return _preview(state, plan)
    with exclusive_write(repository):
        with bulk_objects(repository) as objects:
            state, plan = prepare(objects)
        return _carry_out(verb, repository, state, plan, state.original)


def continue_replay(verb: ReplayVerb, repository: Repository, conversation: str, branch: str | None) -> ReplayOutcome:
    """Replay the rest on top of the conflict-resolution branch.

    Raises:
        NotFound, Ambiguous: none is in progress, or there are several and no branch is named; or it was deleted.
        Conflicted: a conflict is still open.
        Refused: the branch was changed in the meantime in a way that the replay cannot include.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        state = read_replay(repository, conversation_id, branch, verb.kind)
        tip = state.resolution.tip
        return _replay_rest(verb, repository, with_stop_applied(repository, state), tip, "merged")


def skip_message(verb: ReplayVerb, repository: Repository, conversation: str, branch: str | None) -> ReplayOutcome:
    """Replay the rest without the message that it stopped at; raises as `continue_replay` does."""
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        state = read_replay(repository, conversation_id, branch, verb.kind)
        return _replay_rest(verb, repository, state, state.resolution.target_tip, "abandoned")


def abort_replay(verb: ReplayVerb, repository: Repository, conversation: str, branch: str | None) -> ReplayAborted:
    """Delete the conflict-resolution branch; the branch that was to move is unchanged.

    Raises:
        NotFound, Ambiguous: none is in progress, or there are several and no branch is named.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        found = find_in_progress(repository, conversation_id, branch, verb.kind)
        active, operation, notes = abort(repository, found)
    return ReplayAborted(
        kind=verb.kind,
        conversation=conversation_id,
        moved_branch=moving_branch(found),
        branch=found.branch,
        active_branch=active,
        operation=operation.id,
        notes=notes,
    )


def _replay_rest(verb: ReplayVerb, repository: Repository, state: ReplayState, tip: Oid, status: str) -> ReplayOutcome:
    current = read_current_tip(repository, state)
    state, plan = verb.plan_rest(repository, state, tip, current, read_rules(repository, state.conversation, tip))
    return _carry_out(verb, repository, state, plan, current, status=status)


def _preview(state: ReplayState, plan: ReplayPlan) -> ReplayOutcome:
    """Return the outcome of a dry run."""
    result, plain = plan.result, {"tip": None, "dry_run": True}
    if result.stop is not None:
        where = {"replayed": result.moved, "stopped": result.stop.id, "remaining": len(result.todo)}
        return _outcome(ReplayConflicted, state, plan, **where, **plain)
    if result.tip == state.original:
        return _outcome(ReplayUpToDate, state, plan, **plain)
    return _outcome(Replayed, state, plan, replayed=result.moved, **plain)


def _carry_out(
    verb: ReplayVerb,
    repository: Repository,
    state: ReplayState,
    plan: ReplayPlan,
    current: Oid,
    *,
    status: str = "merged",
) -> ReplayOutcome:
    """Move the branch from `current` to the end of the plan, or stop where the plan stops; its objects are written."""
    result = plan.result
    state = replace(state, moved=(*state.moved, *result.moved))
    if result.stop is not None:
        tx = Transaction(repository, state.conversation)
        name = write_stop(tx, state, result.stop, result.todo)
        summary = verb.stop_summary(state, result.stop)
        stopped = tx.commit(
            f"{verb.kind}-conflict",
            summary,
            metadata_message=f"stop on {name}",
            details={} if state.in_progress is None else sides_of(state.in_progress),
        )
        return _outcome(
            ReplayConflicted,
            state,
            plan,
            branch=name,
            tip=result.stop.new,
            replayed=state.moved,
            stopped=result.stop.id,
            remaining=len(result.todo),
            operation=stopped.id,
            others=read_others(repository, state.conversation, name),
        )
    if result.tip == current and state.in_progress is None:
        return _outcome(ReplayUpToDate, state, plan, tip=result.tip)
    notes = (*plan.notes, *verb.end_notes(repository, state))
    tx = Transaction(repository, state.conversation)
    tx.move_branch(state.branch, current, result.tip)
    write_end(tx, state, status)
    entry = verb.new_entry(repository, state)
    if entry is not None:
        tx.set_branch_entry(state.branch, entry)
    operation = tx.commit(
        verb.kind,
        verb.end_summary(state),
        metadata_message=f"{verb.kind} {state.branch}",
        details=verb.details(state, plan),
    )
    return _outcome(Replayed, state, plan, tip=result.tip, replayed=state.moved, operation=operation.id, notes=notes)


_AnyOutcome = TypeVar("_AnyOutcome", bound=_ReplayResult)


def _outcome(kind: type[_AnyOutcome], state: ReplayState, plan: ReplayPlan, **fields: Any) -> _AnyOutcome:
    """Return an outcome with what every one has of a plan; open conflicts come first, in the order of their numbers."""
    conflicts = sorted(plan.result.conflicts, key=lambda each: (each.status == "resolved", list_order(each)))
    plain: dict[str, Any] = {"branch": state.branch, "notes": plan.notes, **fields}
    return kind(
        kind=state.kind,
        conversation=state.conversation,
        moved_branch=state.branch,
        onto=state.target if state.kind == REBASE else None,
        conflicts=tuple(conflicts),
        **plain,
    )
