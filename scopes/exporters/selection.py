"""Choose the messages of an export: the history of one revision, or of every branch, each message once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scopes.conversation.show import BranchRow, ConversationView, show
from scopes.history.messages import MessageHeader, header_of, is_root
from scopes.history.names import Revision, resolve_revision
from scopes.ids import MessageId, Oid
from scopes.merge.lanes import MarkedLanes
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository

_MAX_DEPTH = 20  # of sub-agents that sub-agents started


@dataclass(frozen=True, slots=True)
class BranchSlice:
    """The messages of one branch that no earlier slice contains, oldest first; `tip` is the last exported commit.

    `lanes` are the merged branches in it.
    """

    branch: BranchRow | None
    tip: Oid
    heads: tuple[MessageHeader, ...]
    lanes: MarkedLanes


@dataclass(slots=True)
class ExportSelection:
    """The messages to export, without their bodies.

    `ids` maps every commit to its message id. `copies` lists the further commits of messages that have several.
    `versions` has the version of the agent by the last commit of each imported session, for formats that want it.
    """

    view: ConversationView
    root: Oid | None = None
    slices: list[BranchSlice] = field(default_factory=list)
    ids: dict[Oid, MessageId] = field(default_factory=dict)
    copies: dict[MessageId, list[MessageHeader]] = field(default_factory=dict)
    versions: dict[Oid, str] = field(default_factory=dict)

    @property
    def heads(self) -> Iterator[MessageHeader]:
        """Every message once, parents before children."""
        return (head for branch_slice in self.slices for head in branch_slice.heads)

    @property
    def size(self) -> int:
        """The number of messages."""
        return sum(len(branch_slice.heads) for branch_slice in self.slices)

    def parents_of(self, head: MessageHeader) -> list[MessageId]:
        """Return the ids of a message's parents; empty for the first message."""
        return [self.ids[parent] for parent in head.parents if parent in self.ids]


def select_messages(repository: Repository, where: str, *, all_branches: bool) -> ExportSelection:
    """Select the history of the revision `where` or, with `all_branches`, of every branch, the named one first.

    Raises:
        NotFound, Ambiguous, Invalid: the revision cannot be resolved.
    """
    revision = resolve_revision(repository, where)
    selection = ExportSelection(show(repository, revision.conversation, recent=0, include_hidden=True))
    seen: set[MessageId] = set()
    for branch, tip in _list_tips(revision, selection.view, all_branches=all_branches):
        _add_slice(repository, selection, branch, tip, seen)
    return selection


def add_sub_agents(repository: Repository, selection: ExportSelection) -> None:
    """Add a slice for each sub-agent that a selected message started, and for those that these started in turn."""
    seen = set(selection.ids.values())
    names = {each.branch.name for each in selection.slices if each.branch is not None}
    for _ in range(_MAX_DEPTH):
        found = [
            row
            for row in selection.view.branches
            if row.name not in names and row.sub_agent is not None and row.sub_agent.spawned_by in seen
        ]
        for row in found:
            names.add(row.name)
            _add_slice(repository, selection, row, row.tip, seen)
        if not found:
            return


def _add_slice(
    repository: Repository, selection: ExportSelection, branch: BranchRow | None, tip: Oid, seen: set[MessageId]
) -> None:
    commits = list(walk_oldest_first(repository, [tip], selection.ids))
    name = None if branch is None else branch.name
    lanes = MarkedLanes(repository, selection.view.id, commits, name)
    selection.slices.append(BranchSlice(branch, tip, tuple(_list_unseen(selection, commits, seen)), lanes))


def _list_tips(
    revision: Revision, view: ConversationView, *, all_branches: bool
) -> Sequence[tuple[BranchRow | None, Oid]]:
    """Return the commits to walk from with their branches; the branch of the revision comes first."""
    by_name = {branch.name: branch for branch in view.branches}
    if not all_branches:
        return [(by_name.get(revision.branch) if revision.branch is not None else None, revision.oid)]
    first = revision.branch or view.active_branch
    ordered = sorted(view.branches, key=lambda branch: branch.name != first)
    return [(branch, branch.tip) for branch in ordered]


def _list_unseen(
    selection: ExportSelection, commits: Iterable[Commit], seen: set[MessageId]
) -> Iterator[MessageHeader]:
    """Yield the messages of commits that are not in `seen`; record every commit in the selection."""
    for commit in commits:
        if is_root(commit):
            selection.root = selection.root or commit.oid
            continue
        head = header_of(commit)
        selection.ids[commit.oid] = head.id
        if head.id in seen:
            selection.copies.setdefault(head.id, []).append(head)
        else:
            seen.add(head.id)
            yield head
