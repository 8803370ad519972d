"""Save and read the state of an unfinished rebase or cherry-pick: what was replayed, and what is still to do.

The branch moves once, at the end. Until then the state is in the metadata entry of the conflict-resolution branch; the
fields that merges have too are in `in_progress`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from scopes.clock import now
from scopes.errors import Corrupt, NotFound, Refused
from scopes.history.messages import message_id_of
from scopes.history.revisions import list_branch_tips, read_active_branch
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, is_oid
from scopes.merge.in_progress import (
    PURPOSE,
    InProgress,
    branch_after,
    entry_finished,
    entry_in_progress,
    find_in_progress,
    require_resolved_on_branch,
    resolution_branch,
    restore_hint,
)
from scopes.merge.rewrite import Rewrite, Stop
from scopes.model.conversation import BranchEntry
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.repository import Repository, read_commit

REBASE, CHERRY_PICK = "rebase", "cherry-pick"
_PREPOSITIONS = {REBASE: "onto", CHERRY_PICK: "into"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """A rebase or cherry-pick, as far as it has come.

    Attributes:
        branch: The branch that will move; `original` is its tip.
        source, target: The names under which conflicts show the two sides.
        onto: The new base; `parent` is the branch that it is on, if it was named by one.
        moved: The messages that have been replayed.
        todo: The commits to replay after the one that it stopped at.
        in_progress: The conflict resolution; None before it stops for the first time.
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
    in_progress: InProgress | None = None

    @property
    def resolution(self) -> InProgress:
        """The conflict resolution of a replay that has stopped."""
        if self.in_progress is None:
            raise NotFound(f"no {self.kind} is in progress in {self.conversation}")
        return self.in_progress


def list_written(repository: Repository, state: ReplayState, tip: Oid) -> frozenset[MessageId]:
    """Return the messages on `tip` that a replay has written: the replayed ones and the resolutions of conflicts."""
    commits = list_new_commits(repository, tip, state.onto)
    resolutions = {message_id_of(each) for each in commits if each.kind == "notice"}
    return frozenset(resolutions | {each.id for each in state.moved})


def read_replay(repository: Repository, conversation: ConversationId, branch: str | None, kind: str) -> ReplayState:
    """Return the state of the replay that `find_in_progress` finds.

    Raises:
        NotFound, Ambiguous: as `find_in_progress` does.
        Corrupt: its record is damaged; it can still be aborted.
    """
    in_progress = find_in_progress(repository, conversation, branch, kind)
    state = _decode(in_progress)
    if state is None:
        raise Corrupt(
            f"the record of the {kind} on {conversation}/{in_progress.branch} is damaged",
            hint=f"abort it: scopes {quote(kind)} {quote(conversation)} --abort",
        )
    return state


def _decode(in_progress: InProgress) -> ReplayState | None:
    """Return the state that a record holds; None if a field is missing or has no possible value."""
    match in_progress.details:
        case {"branch": str(branch), "original": str(original), "onto": str(onto), "moved": [*moved], "todo": [*todo]}:
            parent = in_progress.details.get("parent")
            commits = [original, onto, *todo, *(oid for each in moved for oid in _commits_of(each))]
            if not all(isinstance(oid, str) and is_oid(oid) for oid in commits):
                return None
            return ReplayState(
                kind=in_progress.kind,
                conversation=in_progress.conversation,
                branch=BranchName(branch),
                original=Oid(original),
                source=in_progress.source,
                target=in_progress.target,
                onto=Oid(onto),
                parent=BranchName(parent) if isinstance(parent, str) else None,
                moved=tuple(Rewrite(MessageId(name), Oid(old), Oid(new)) for name, old, new in moved),
                todo=tuple(map(Oid, todo)),
                in_progress=in_progress,
            )
    return None


def _commits_of(rewrite: object) -> list[object]:
    """Return the old and the new commit of a recorded rewrite; [None] if it is none."""
    match rewrite:
        case [str(), old, new]:
            return [old, new]
    return [None]


def _details(state: ReplayState, todo: Iterable[Oid]) -> dict[str, Any]:
    details: dict[str, Any] = {
        "branch": state.branch,
        "original": state.original,
        "onto": state.onto,
        "moved": [list(rewrite) for rewrite in state.moved],
        "todo": list(todo),
    }
    return details if state.parent is None else {**details, "parent": state.parent}


def with_stop_applied(repository: Repository, state: ReplayState) -> ReplayState:
    """Return the state with the message that it stopped at among the replayed ones.

    Raises:
        Conflicted: a conflict is still open there.
        Refused: the conflict-resolution branch was rewound behind that message.
    """
    in_progress = state.resolution
    if not is_ancestor(repository, in_progress.stopped, in_progress.tip):
        raise Refused(
            f"{state.conversation}/{in_progress.branch} no longer contains the message it stopped at",
            hint=f"undo that: scopes undo, or skip it: scopes {quote(state.kind)} {quote(state.conversation)} --skip",
        )
    require_resolved_on_branch(repository, in_progress)
    stopped = message_id_of(read_commit(repository, in_progress.stopped))
    return replace(state, moved=(*state.moved, Rewrite(stopped, in_progress.source_tip, in_progress.stopped)))


def read_current_tip(repository: Repository, state: ReplayState) -> Oid:
    """Return the present tip of the branch that will move.

    Raises:
        NotFound: the branch was deleted.
    """
    tip = list_branch_tips(repository, state.conversation).get(state.branch)
    if tip is None:
        raise NotFound(
            f"{state.conversation}/{state.branch} was deleted",
            hint=restore_hint(repository, state.conversation, state.branch)
            + f", or abort: scopes {quote(state.kind)} {quote(state.conversation)} --abort",
        )
    return tip


def write_stop(tx: Transaction, state: ReplayState, stop: Stop, todo: Iterable[Oid]) -> BranchName:
    """Put a message with conflicts on the conflict-resolution branch, created at the first stop; return its name."""
    in_progress = state.in_progress
    if in_progress is None:
        active = read_active_branch(tx.repository, state.conversation)
        tips = list_branch_tips(tx.repository, state.conversation)
        name = resolution_branch(tips, state.source, state.target, joined=_PREPOSITIONS[state.kind])
        entry = BranchEntry(purpose=PURPOSE, parent=state.branch, fork=stop.parent, created=now())
    else:
        name, entry, active = in_progress.branch, replace(in_progress.entry, fork=stop.parent), in_progress.before
    entry = entry_in_progress(
        entry,
        kind=state.kind,
        target=state.target,
        target_tip=stop.parent,
        source=state.source,
        source_tip=stop.old,
        before=active,
        stopped=stop.new,
        details=_details(state, todo),
    )
    tx.move_branch(name, None if in_progress is None else in_progress.tip, stop.new)
    tx.set_branch_entry(name, entry)
    if in_progress is None:
        tx.activate(name)
    return name


def write_end(tx: Transaction, state: ReplayState, status: str) -> None:
    """Mark the conflict-resolution branch as finished with a status, and make the former branch active again."""
    in_progress = state.in_progress
    if in_progress is not None:
        tx.activate(branch_after(tx.repository, in_progress, state.branch))
        tx.set_branch_entry(in_progress.branch, entry_finished(in_progress.entry, status))
