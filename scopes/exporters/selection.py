"""What an export covers: the line of history that is meant and, where every branch is, what each other one adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from scopes.conversation.show import BranchSummary, ConversationView, show
from scopes.history.messages import MessageHead, head_of, is_root
from scopes.history.revparse import Revision, resolve_revision
from scopes.ids import MessageId, Oid
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class BranchSlice:
    """The messages of one line of history that none before it had, oldest first; `tip` is where it ends."""

    branch: BranchSummary | None
    tip: Oid
    heads: tuple[MessageHead, ...]


@dataclass(slots=True)
class Selection:
    """A conversation without its bodies: every message once, at its first place.

    `ids` names the message of every commit; `copies` are the further places of messages that stand at several.
    """

    view: ConversationView
    root: Oid | None = None
    stretches: list[BranchSlice] = field(default_factory=list)
    ids: dict[Oid, MessageId] = field(default_factory=dict)
    copies: dict[MessageId, list[MessageHead]] = field(default_factory=dict)

    @property
    def heads(self) -> Iterator[MessageHead]:
        """Every message, parents before children."""
        return (head for stretch in self.stretches for head in stretch.heads)

    @property
    def size(self) -> int:
        """How many messages there are."""
        return sum(len(stretch.heads) for stretch in self.stretches)

    def parents_of(self, head: MessageHead) -> list[MessageId]:
        """Name the messages that a message stands on; none for the first."""
        return [self.ids[parent] for parent in head.parents if parent in self.ids]


def select_messages(repository: Repository, where: str, *, every_branch: bool) -> Selection:
    """Collect the messages that lead to a place, or, with `every_branch`, those of all branches, the meant one first.

    Raises:
        NotFound, Ambiguous, Invalid: the place cannot be understood.
    """
    place = resolve_revision(repository, where)
    extent = Selection(replace(show(repository, place.conversation, recent=0, abandoned=True), history=()))
    seen: set[MessageId] = set()
    for branch, tip in _lines(place, extent.view, every_branch=every_branch):
        extent.stretches.append(BranchSlice(branch, tip, tuple(_walk_new(repository, extent, tip, seen))))
    return extent


def _lines(
    place: Revision, view: ConversationView, *, every_branch: bool
) -> Sequence[tuple[BranchSummary | None, Oid]]:
    """Return the tips to walk from, the meant one first."""
    by_name = {branch.name: branch for branch in view.branches}
    if not every_branch:
        return [(by_name.get(place.branch) if place.branch is not None else None, place.oid)]
    first = place.branch or view.active_branch
    ordered = sorted(view.branches, key=lambda branch: branch.name != first)
    return [(branch, branch.tip) for branch in ordered]


def _walk_new(repository: Repository, extent: Selection, tip: Oid, seen: set[MessageId]) -> Iterator[MessageHead]:
    """Yield the messages that lead to a tip and were not met before."""
    for commit in walk_oldest_first(repository, [tip], extent.ids):
        if is_root(commit):
            extent.root = extent.root or commit.oid
            continue
        head = head_of(commit)
        extent.ids[commit.oid] = head.id
        if head.id in seen:
            extent.copies.setdefault(head.id, []).append(head)
        else:
            seen.add(head.id)
            yield head
