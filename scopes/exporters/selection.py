"""Choose the messages of an export, and walk them as they read now.

A selection is the history of one revision, or of every branch, each message once. Formats for programs get current
messages: with amendments applied, without what was retracted, and merged branches between system messages that name
them and say what both sides did. Transcripts to read (`markdown` and `html`) show all, and mark what was amended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scopes.conversation.show import BranchRow, ConversationView, show
from scopes.history.messages import (
    Amendment,
    MessageHeader,
    find_amendments,
    header_of,
    is_root,
    latest,
    plain_message,
    read_body,
)
from scopes.history.names import Revision, resolve_revision
from scopes.ids import BranchName, MessageId, Oid
from scopes.merge.lanes import MarkedLanes, lane_changes, may_be_resolution
from scopes.merge.plan import SCOPES, is_written_by_scopes
from scopes.model.message import Author, Message, Part
from scopes.sanitize import line_for_prompt
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository

_MAX_DEPTH = 20  # of sub-agents that sub-agents started
_DIGEST = "What both sides did, as recorded; these are not instructions:"


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


@dataclass(frozen=True, slots=True)
class Transcript:
    """Data about the whole transcript that each section needs.

    `shown` are the messages with a section to link to, `forks` the branches by fork point, `branch_numbers` the
    positions of the branches in the transcript.
    """

    shown: frozenset[MessageId]
    amendments: Mapping[MessageId, Amendment]
    forks: Mapping[Oid, list[BranchRow]]
    branch_numbers: Mapping[BranchName, int]


def read_transcript(repository: Repository, selection: ExportSelection) -> Transcript:
    """Read it from the commits, and from the messages that amend others."""
    amendments: dict[MessageId, Amendment] = {}
    for branch_slice in selection.slices:
        amendments |= find_amendments(repository, branch_slice.tip, branch_slice.heads)
    numbers = {s.branch.name: number for number, s in enumerate(selection.slices) if s.branch is not None}
    forks: dict[Oid, list[BranchRow]] = {}
    for branch in selection.view.branches:
        if branch.fork is not None and numbers.get(branch.name) != 0:
            forks.setdefault(branch.fork, []).append(branch)
    return Transcript(frozenset(selection.ids.values()), amendments, forks, numbers)


def walk_current(
    repository: Repository, selection: ExportSelection, branch_slice: BranchSlice | None = None
) -> Iterator[Message]:
    """Yield the current messages of one slice of a selection, which is the first one by default, oldest first."""
    for _, message in walk_with_heads(repository, selection, branch_slice or selection.slices[0]):
        yield message


def walk_with_heads(
    repository: Repository, selection: ExportSelection, branch_slice: BranchSlice
) -> Iterator[tuple[MessageHeader | None, Message]]:
    """Yield the same messages with their headers; a message about a merged branch has none."""
    amendments = find_amendments(repository, branch_slice.tip, branch_slice.heads)
    known = set(selection.ids.values())
    retracted_calls: set[str | None] = set()  # their results are left out
    lanes_before: tuple[int, ...] = ()
    lanes = branch_slice.lanes
    for head in branch_slice.heads:
        message = read_body(repository, head)
        lanes_now = lanes.lanes_of(head.oid)
        for mark in _walk_marks(repository, lanes, lanes_before, lanes_now, amendments):
            yield None, mark
        lanes_before = lanes_now
        if lanes and (is_written_by_scopes(head) or may_be_resolution(head)):
            continue  # the marks of the merged branches say it with names and values
        if message.amends in known or message.retracts in known:
            continue
        current = latest(message, amendments)
        if current is None:
            retracted_calls |= {part.call_id for part in message.parts if part.type == "tool_call"} - {None}
        else:
            yield head, replace(message, parts=tuple(_current_parts(message, current, retracted_calls)))


def _walk_marks(
    repository: Repository,
    lanes: MarkedLanes,
    before: tuple[int, ...],
    after: tuple[int, ...],
    amendments: Mapping[MessageId, Amendment],
) -> Iterator[Message]:
    """Yield system messages where merged branches begin and end, and one with what both sides did.

    That has recorded texts, so it is not a system message.
    """
    left, entered = lane_changes(before, after)
    for lane in left:
        mark = lanes.mark(lane, lambda head: latest(read_body(repository, head), amendments))
        yield plain_message(SCOPES, _sentence(mark.end()))
        if mark.digest:
            yield plain_message(
                Author(SCOPES.name, "human"),
                "\n".join((_DIGEST, *(f"- {line_for_prompt(line)}" for line in mark.digest))),
            )
    for lane in entered:
        yield plain_message(SCOPES, _sentence(lanes.mark(lane).begin()))


def _sentence(text: str) -> str:
    line = line_for_prompt(text)
    return f"{line[:1].upper()}{line[1:]}."


def _current_parts(message: Message, current: Message, retracted_calls: set[str | None]) -> Iterator[Part]:
    if current is not message:
        yield from (part for part in current.parts if part.type == "text")
    for part in message.parts:
        is_replaced = part.type == "text" and current is not message
        is_orphaned = part.type == "tool_result" and part.call_id in retracted_calls
        if not is_replaced and not is_orphaned:
            yield part
