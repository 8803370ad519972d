"""`pull`: fetch, then merge or rebase the branches that have messages on both sides, as those commands do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from scopes.conversation.merge import FastForwarded, MergeConflicted, MergeOptions, MergeOutcome, UpToDate, merge
from scopes.conversation.rebase import ReplayConflicted, ReplayUpToDate, rebase
from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.metadata import read_metadata, read_remote_branches
from scopes.history.names import list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.model.conversation import branch_id
from scopes.result import INLINE, Column, Note, Result, Rows, named, plural
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository
from scopes.sync.accept import FetchedConversation
from scopes.sync.connection import Connection
from scopes.sync.family import list_members
from scopes.sync.fetch import FETCH_COLUMNS, Fetched, fetch
from scopes.sync.grown_tips import has_diverged
from scopes.sync.local_conversations import Selection, choose_local, list_roots
from scopes.sync.purge_notes import JoinGate
from scopes.sync.remotes import Remote

if TYPE_CHECKING:
    from scopes.purge.purge import Places

PullState: TypeAlias = Literal["merged", "rebased", "fast-forward", "up-to-date", "conflict", "refused"]


class PulledBranch(NamedTuple):
    """A branch that had new messages on both sides, and the result of its merge or rebase.

    messages: how many a merge has added to it, or a rebase has moved; conflicts: how many are open
    reason: why it was not changed
    """

    conversation: ConversationId
    branch: BranchName
    source: str
    state: PullState
    messages: int = 0
    conflicts: int = 0
    reason: str | None = None
    operation: OperationId | None = None

    @property
    def name(self) -> str:
        """The conversation and the branch."""
        return f"{self.conversation}/{self.branch}"

    @property
    def why(self) -> str:
        """Why it was not changed, or the number of open conflicts."""
        return self.reason or (f"{self.conflicts} {plural(self.conflicts, 'conflict')}" if self.conflicts else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled(Result):
    """What was fetched, and the branches that were merged."""

    kind = "pull"
    rows_in = "rows"
    is_one_row = True
    columns = FETCH_COLUMNS
    further = (
        Rows(
            "merges",
            (
                Column("name", "Branch", "branch"),
                Column("state", form="state"),
                Column("source", "With"),
                Column("messages", form="count"),
                Column("why", "Reason", "below"),
            ),
        ),
    )

    fetched: Fetched = field(metadata=INLINE)
    branches: tuple[PulledBranch, ...] = field(metadata=named("merges"))

    @property
    def rows(self) -> tuple[FetchedConversation, ...]:
        """What was fetched."""
        return self.fetched.conversations

    @property
    def operation(self) -> OperationId | None:
        """One of the operations that undo takes back."""
        return next(filter(None, (self.fetched.operation, *(each.operation for each in self.branches))), None)

    @property
    def sentence(self) -> str:
        """What is new in the list of the remote, or that nothing is new."""
        return self.remark

    @property
    def remark(self) -> str:
        """The same for a pipe."""
        is_about_all = not self.fetched.conversations and not (self.fetched.listed and any(self.fetched.listed))
        since = " since the last fetch" if self.branches and is_about_all else ""
        return f"{self.fetched.remark}{since}"

    @property
    def exit_code(self) -> int:
        """3 if a merge stopped on conflicts, 1 if one was refused; else that of the fetch."""
        states = {each.state for each in self.branches}
        return 3 if "conflict" in states else 1 if "refused" in states else self.fetched.exit_code


def pull(
    repository: Repository,
    remote: Remote,
    selection: Selection,
    connection: Connection,
    *,
    rebasing: bool = False,
    places: Places | None = None,
) -> Pulled:
    """Fetch the chosen conversations, by default all, and merge diverged branches; one undo reverts all of it.

    places: as in `fetch`

    Raises:
        As `fetch`.
    """
    with repository.one_step():
        fetched = fetch(repository, remote, selection, connection, places=places)
        return merge_fetched(repository, remote, selection, fetched, rebasing=rebasing)


def merge_fetched(
    repository: Repository, remote: Remote, selection: Selection, fetched: Fetched, *, rebasing: bool = False
) -> Pulled:
    """Merge diverged branches after a fetch.

    With `rebasing` the messages that the remote lacks are moved on top of those it has, instead of a merge. A branch
    that stops on conflicts is left in progress, as by `merge` or `rebase`; other branches are still merged. A branch
    with messages that were purged elsewhere is not changed until the user accepts or declines that purge.
    """
    merged: list[PulledBranch] = []
    gate = JoinGate(repository)
    for each in list(_walk_diverged(repository, remote, selection)):
        reason = gate.find_refusal(each.root, each.ours, each.theirs, rebasing=rebasing)
        if reason is not None:
            merged.append(PulledBranch(each.conversation, each.branch, each.source, "refused", reason=reason))
            continue
        merged.append((_rebase if rebasing and not each.is_behind else _merge)(repository, each))
    stopped = next((each for each in merged if each.state == "conflict"), None)
    conflict = () if stopped is None else (_note_conflict(stopped, "rebase" if rebasing else "merge"),)
    others = (note for note in fetched.notes if note not in fetched.to_merge)
    return Pulled(fetched=fetched, branches=tuple(merged), notes=(*others, *conflict))


class _Diverged(NamedTuple):
    """A branch and the remote's version of it, `source`, each with its tip.

    is_behind: the remote has all of the branch and more, such as after an accepted purge or a rewind here
    """

    root: Oid
    conversation: ConversationId
    branch: BranchName
    ours: Oid
    source: str
    theirs: Oid
    is_behind: bool


def _walk_diverged(repository: Repository, remote: Remote, selection: Selection) -> Iterator[_Diverged]:
    """Yield the branches for which the remote has messages that are not in the branch here."""
    chosen = set(choose_local(repository, selection)) if selection.names or selection.has_conditions else None
    members = [member.name for member in list_members(repository, remote)]
    for root, conversation in sorted(list_roots(repository).items(), key=lambda item: item[1]):
        if chosen is not None and conversation not in chosen:
            continue
        found = read_remote_branches(repository, root)
        for member in members:
            there = found.get(member, {})
            entries = read_metadata(repository, conversation).branches if there else {}
            for name, tip in list_branch_tips(repository, conversation).items() if there else ():
                other = there.get(branch_id(name, entries.get(name)))
                if other is None or other.tip == tip:
                    continue
                is_behind = is_ancestor(repository, tip, other.tip)
                if is_behind or has_diverged(repository, tip, other.tip):
                    yield _Diverged(root, conversation, name, tip, f"{member}/{other.name}", other.tip, is_behind)


def _merge(repository: Repository, diverged: _Diverged) -> PulledBranch:
    _, conversation, branch, _, source, theirs, _ = diverged
    try:
        options = MergeOptions(record_copies=True)  # or a push after it would say that the remote has other messages
        outcome = merge(repository, conversation, source, source_tip=theirs, target=branch, options=options)
    except (Refused, Conflicted, NotFound) as error:
        return PulledBranch(conversation, branch, source, "refused", reason=_explain(error))
    conflicts = len(outcome.conflicts) if isinstance(outcome, MergeConflicted) else 0
    state, operation = _state_of(outcome), outcome.operation
    return PulledBranch(conversation, branch, source, state, len(outcome.messages), conflicts, operation=operation)


def _rebase(repository: Repository, diverged: _Diverged) -> PulledBranch:
    _, conversation, branch, _, source, theirs, _ = diverged
    try:
        outcome = rebase(repository, conversation, onto=source, onto_tip=theirs, branch=branch, from_base=True)
    except (Refused, Conflicted, NotFound) as error:
        return PulledBranch(conversation, branch, source, "refused", reason=_explain(error))
    operation, count = outcome.operation, len(outcome.messages)
    if isinstance(outcome, ReplayConflicted):
        conflicts = sum(each.status == "open" for each in outcome.conflicts)
        return PulledBranch(conversation, branch, source, "conflict", count, conflicts, operation=operation)
    state: PullState = "up-to-date" if isinstance(outcome, ReplayUpToDate) else "rebased"
    return PulledBranch(conversation, branch, source, state, count, operation=operation)


def _explain(error: Refused | Conflicted | NotFound) -> str:
    """Return why a branch was not changed, with the hint of the error."""
    return "; ".join(filter(None, (error.message, error.hint)))


def _state_of(outcome: MergeOutcome) -> PullState:
    match outcome:
        case UpToDate():
            return "up-to-date"
        case FastForwarded():
            return "fast-forward"
        case MergeConflicted():
            return "conflict"
        case _:
            return "merged"


def _note_conflict(stopped: PulledBranch, verb: str) -> Note:
    name, what = stopped.conversation, f"{stopped.conversation}/{stopped.branch}"
    sides = f"{what} onto {stopped.source}" if verb == "rebase" else f"{stopped.source} into {what}"
    text = f"the {verb} of {sides} stopped on conflicts"
    return Note(
        text, f"resolve them: scopes conflicts list {quote(name)}; then: scopes {verb} {quote(name)} --continue"
    )
