"""A rebase or cherry-pick on its way: where it began, what it has moved, and the branch that it waits on in between.

The branch itself moves once, at the end. What a stopped one needs to go on stands in the metadata of its resolution
branch, as for merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scopes.clock import now
from scopes.errors import Ambiguous, Conflicted, NotFound, Refused
from scopes.history.messages import message_id_of
from scopes.history.revparse import find_active_branch, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.in_progress import (
    PURPOSE,
    InProgress,
    list_in_progress,
    open_conflicts_at,
    resolution_branch,
    resolved_entry,
    waiting_entry,
)
from scopes.merge.replay import Rewrite, Stop
from scopes.model.conflict import Conflict
from scopes.model.conversation import BranchEntry
from scopes.model.operation import Operation
from scopes.result import Result
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository, read_commit

_JOINED = {"rebase": "onto", "cherry-pick": "into"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """What moves where: `branch` stood at `original`; `source` and `target` name the two sides of its conflicts.

    `onto` is the new base and `parent` the branch that it is of; `moved` is done, `todo` the commits that are left.
    """

    kind: str
    conversation: ConversationId
    branch: BranchName
    original: Oid
    source: str
    target: str
    onto: Oid
    parent: BranchName | None = None
    moved: tuple[Rewrite, ...] = ()
    todo: tuple[Oid, ...] = ()
    pending: InProgress | None = None

    @property
    def waiting(self) -> InProgress:
        """Where it stopped; only one that was found waiting has that."""
        if self.pending is None:
            raise NotFound(f"no {self.kind} waits in {self.conversation}")
        return self.pending


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome(Result):
    """What putting messages on top of another place came to; `branch` is where the result stands.

    `moved` are the messages that stand at their new place, oldest first, with their commits. `conflicts` holds the open
    ones and those that were settled on the way. With `dry_run` nothing has happened.
    """

    conversation: ConversationId
    branch: BranchName
    tip: Oid | None
    moved: tuple[Rewrite, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dry_run: bool = False
    operation: OperationId | None = None

    @property
    def messages(self) -> tuple[MessageId, ...]:
        """The ids of what stands at its new place."""
        return tuple(moved.id for moved in self.moved)


def require_free(repository: Repository, conversation: ConversationId, branch: BranchName) -> None:
    """Refuse to rewrite a branch that something else is going to move, or that something waits on.

    Raises:
        Refused: a merge, rebase or cherry-pick waits for a resolution.
    """
    for pending in list_in_progress(repository, conversation):
        moved = pending.details.get("branch", pending.target)
        if branch in {pending.branch, moved}:
            verb = f"scopes conv {pending.kind} {conversation}"
            raise Refused(
                f"a {pending.kind} of {conversation}/{moved} waits on {pending.branch}",
                hint=f"first: {verb} --continue, or {verb} --abort",
            )


def find_replay(repository: Repository, conversation: ConversationId, branch: str | None, kind: str) -> ReplayState:
    """Return the rebase or cherry-pick that waits; `branch` is the one it moves, or the one it waits on.

    Raises:
        NotFound: none waits.
        Ambiguous: several wait and none is named.
    """
    found = [
        course for pending in list_in_progress(repository, conversation) if (course := _course(pending)) is not None
    ]
    found = [course for course in found if course.kind == kind]
    if branch is not None:
        found = [course for course in found if branch in (course.branch, course.waiting.branch)]
    if not found:
        where = conversation if branch is None else f"{conversation}/{branch}"
        raise NotFound(f"no {kind} of {where} waits", hint=f"see: scopes conflicts list {conversation}")
    if len(found) > 1:
        names = ", ".join(course.branch for course in found)
        raise Ambiguous(f"several of kind {kind} wait in {conversation}", hint=f"name one with --branch: {names}")
    return found[0]


def _course(pending: InProgress) -> ReplayState | None:
    match pending.details:
        case {"branch": str(branch), "original": str(original), "onto": str(onto), "moved": moved, "todo": todo}:
            parent = pending.details.get("parent")
            return ReplayState(
                kind=pending.kind,
                conversation=pending.conversation,
                branch=BranchName(branch),
                original=Oid(original),
                source=pending.source,
                target=pending.target,
                onto=Oid(onto),
                parent=BranchName(parent) if isinstance(parent, str) else None,
                moved=tuple(Rewrite(MessageId(name), Oid(old), Oid(new)) for name, old, new in moved),
                todo=tuple(map(Oid, todo)),
                pending=pending,
            )
    return None


def with_stop_applied(repository: Repository, course: ReplayState) -> ReplayState:
    """Return the course with the message that it stopped at as moved.

    Raises:
        Conflicted: a conflict is still open there.
        Refused: the branch that it waits on was moved back behind that message.
    """
    waiting = course.waiting
    if not is_ancestor(repository, waiting.stopped, waiting.tip):
        raise Refused(
            f"{course.conversation}/{waiting.branch} does not hold the message any more that it stopped at",
            hint=f"scopes undo, or leave it out: scopes conv {course.kind} {course.conversation} --skip",
        )
    left = len(open_conflicts_at(repository, waiting.tip))
    if left:
        where = f"{course.conversation}/{waiting.branch}"
        raise Conflicted(
            f"{left} conflict{'s are' if left > 1 else ' is'} still open on {where}",
            hint=f"see: scopes conflicts list {course.conversation}",
        )
    stopped = message_id_of(read_commit(repository, waiting.stopped))
    return replace(course, moved=(*course.moved, Rewrite(stopped, waiting.source_tip, waiting.stopped)))


def read_target(repository: Repository, course: ReplayState) -> Oid:
    """Return where the branch that is to move stands now.

    Raises:
        NotFound: it is gone.
    """
    tip = list_branch_tips(repository, course.conversation).get(course.branch)
    if tip is None:
        raise NotFound(
            f"{course.conversation}/{course.branch} is gone",
            hint=f"bring it back: scopes undo; or give up: scopes conv {course.kind} {course.conversation} --abort",
        )
    return tip


def commit_stop(
    repository: Repository, course: ReplayState, stop: Stop, todo: Iterable[Oid], summary: str
) -> tuple[BranchName, Operation]:
    """Put the stopped message on a conflict-resolution branch; return that branch and the operation."""
    chosen, pending = course.conversation, course.pending
    if pending is None:
        active = find_active_branch(repository, chosen)
        tips = list_branch_tips(repository, chosen)
        name = resolution_branch(tips, course.source, course.target, joined=_JOINED[course.kind])
        entry = BranchEntry(purpose=PURPOSE, parent=course.branch, fork=stop.parent, created=now())
    else:
        name, entry, active = pending.branch, replace(pending.entry, fork=stop.parent), pending.before
    document = {
        "kind": course.kind,
        "source": course.source,
        "target": course.target,
        "source_tip": stop.old,
        "target_tip": stop.parent,
        "before": active,
        "stopped": stop.new,
        "branch": course.branch,
        "original": course.original,
        "onto": course.onto,
        "moved": [list(moved) for moved in course.moved],
        "todo": list(todo),
    }
    if course.parent is not None:
        document["parent"] = course.parent
    tx = Transaction(repository, chosen)
    tx.move_branch(name, None if pending is None else pending.tip, stop.new)
    tx.describe_branch(name, waiting_entry(entry, document))
    if pending is None:
        tx.activate(name)
    return name, tx.commit(f"{course.kind}-conflict", summary, metadata_message=f"stop on {name}")


def commit_end(  # noqa: PLR0917
    repository: Repository,
    course: ReplayState,
    old: Oid,
    new: Oid,
    entry: BranchEntry | None,
    summary: str,
    *,
    status: str = "merged",
    details: Mapping[str, Any],
) -> Operation:
    """Move the branch and end the conflict resolution; `entry` is the new metadata of the branch, None to keep it."""
    chosen, pending = course.conversation, course.pending
    tx = Transaction(repository, chosen)
    tx.move_branch(course.branch, old, new)
    if pending is not None:
        tx.activate(pending.before if pending.before in list_branch_tips(repository, chosen) else course.branch)
        tx.describe_branch(pending.branch, resolved_entry(pending.entry, status))
    if entry is not None:
        tx.describe_branch(course.branch, entry)
    return tx.commit(course.kind, summary, metadata_message=f"{course.kind} {course.branch}", details=details)


def details_of(moved: Iterable[Rewrite]) -> dict[str, Any]:
    """Return what an operation remembers of its replays: the new commit of each old one."""
    return {"map": {each.old: each.new for each in moved if each.old != each.new}}
