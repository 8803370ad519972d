"""`collaborate list` and `collaborate show`: who takes part, what they hold, and how conflicts ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import NamedTuple

from scopes.agents.inbox import walk_entries
from scopes.agents.registry import Registry
from scopes.collaboration.debate import Debate, find_debates, folded
from scopes.collaboration.records import PURPOSE, Entry, list_entries, name_of
from scopes.conversation.decisions import decisions_at
from scopes.errors import Ambiguous, NotFound
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.messages import display_time, headers_of
from scopes.ids import AgentName, BranchName, ConversationId, MessageId
from scopes.merge.conflicts import ConflictRow, EndedConflicts, read_ended, walk_conflicts
from scopes.model import encoding
from scopes.model.conflicts import ENDED, Conflict, Resolution
from scopes.model.encoding import without_none
from scopes.model.message import Position, decision_key
from scopes.result import INLINE, Column, Note, Result, shown, written_by
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.repository import Repository

OPEN, MERGED, CLOSED = "open", "merged", "closed"
_ORDER = (OPEN, MERGED, CLOSED)


class Participant(NamedTuple):
    """Somebody who was asked or has written.

    joined: when it joined, or wrote first; None if it has done neither
    is_unread: the request is still in its inbox, or waits for it
    is_asked: it is one of those who were asked, or the requester
    """

    name: AgentName
    joined: str | None
    messages: int
    is_unread: bool = False
    is_asked: bool = True

    def document(self) -> dict[str, object]:
        """Return the participant as a JSON object."""
        known = without_none(name=self.name, joined=self.joined, messages=self.messages)
        return {**known, "unread": self.is_unread, "asked": self.is_asked}


class StatedDecision(NamedTuple):
    """A decision that a message of the branch states.

    decided: what the conflict about it ended with, if that is another decision
    decided_by: who resolved the conflict so
    """

    topic: str
    decision: str
    author: AgentName
    message: MessageId
    decided: str | None = None
    decided_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaboration:
    """One collaboration, derived from the messages of its branch.

    Attributes:
        requester: Who opened it.
        entity: What it is about, as `TYPE/ID`.
        closed: When it was closed; None while it is open.
        outcome: What was said when it was closed.
        merged_into: The branch that has all its messages but the closing one; None if there are others.
        participants: The requester, those who were asked, and others who have written, in that order.
        messages: How many messages the branch has, the request included.
    """

    conversation: ConversationId
    branch: BranchName
    type: str
    task: str
    urgency: str
    requester: AgentName
    entity: str | None
    opened: str | None
    closed: str | None
    outcome: str | None
    participants: tuple[Participant, ...]
    messages: int
    open_conflicts: int = 0
    merged_into: BranchName | None = None

    @property
    def name(self) -> str:
        """Its branch with the conversation."""
        return name_of(self.conversation, self.branch)

    @property
    @shown
    def status(self) -> str:
        """`open`, `merged` until it is closed, or `closed`."""
        if self.closed is not None:
            return CLOSED
        return OPEN if self.merged_into is None else MERGED

    @property
    def joined(self) -> str:
        """How many of those who were asked have joined, and how many others have: `2 of 3 + 1`."""
        asked = [one for one in self.participants if one.is_asked]
        others = sum(one.joined is not None for one in self.participants if not one.is_asked)
        more = f" + {others}" if others else ""
        return f"{sum(one.joined is not None for one in asked)} of {len(asked)}{more}"


class Consensus(NamedTuple):
    """What the newest positions about a subject say: who holds each, the position of most first."""

    about: str
    holders: tuple[tuple[str, tuple[AgentName, ...]], ...]

    @property
    def is_reached(self) -> bool:
        """True if all who stated a position, at least two, hold the same one."""
        return len(self.holders) == 1 and len(self.holders[0][1]) > 1

    def document(self) -> dict[str, object]:
        """Return the positions about the subject as a JSON object."""
        holders = [{"position": position, "agents": list(names)} for position, names in self.holders]
        return {"about": self.about, "reached": self.is_reached, "holders": holders}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationList(Result):
    """Collaborations: open ones, then merged ones, then closed ones; the newest first."""

    rows_in = "collaborations"
    columns = (
        Column("conversation", on="pipe"),
        Column("branch", on="pipe"),
        Column("name", "Branch", "branch", "terminal"),
        Column("type", on="pipe"),
        Column("status", form="state"),
        Column("urgency", on="pipe"),
        Column("joined"),
        Column("messages", on="pipe"),
        Column("open_conflicts", "Conflicts", on="pipe"),
        Column("opened", form="time"),
        Column("task"),
    )
    empty = "No collaboration is open."

    collaborations: tuple[Collaboration, ...]

    @property
    def next_step(self) -> str:
        """How to open one if there is none, or to close one that is merged."""
        if not self.collaborations:
            return "open one: scopes collaborate CONV --type TYPE --agents NAMES --task TEXT"
        merged = next((each.name for each in self.collaborations if each.status == MERGED), None)
        return "" if merged is None else f"close what is merged: scopes collaborate close {quote(merged)}"


def _end_conflicts(rows: Sequence[ConflictRow]) -> list[dict[str, object]]:
    """Return conflicts and how they ended as JSON objects."""
    shown = []
    for conflict in (row.conflict for row in rows):
        document: dict[str, object] = {name: getattr(conflict, name) for name in ("id", "type", "key", "status")}
        if (end := conflict.resolution) is not None:
            document |= without_none(
                strategy=end.strategy, choice=end.choice, value=end.value, reason=end.reason or None, actor=end.actor
            )
        shown.append(document)
    return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationReport(Result):
    """A collaboration with positions, decisions and conflicts, and how these ended.

    `positions` are those about topics, then those about conflicts; `consensus` is about topics, `debates` about both.
    """

    kind = "collaboration"

    collaboration: Collaboration = field(metadata=INLINE)
    positions: tuple[Position, ...]
    consensus: tuple[Consensus, ...]
    debates: tuple[Debate, ...]
    decisions: tuple[StatedDecision, ...]
    conflicts: tuple[ConflictRow, ...] = field(metadata=written_by(_end_conflicts))


def list_collaborations(
    repository: Repository, conversation: str | None = None, *, everything: bool = False
) -> CollaborationList:
    """List the collaborations of one conversation or of all that are not closed; with `everything` also closed ones.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
    """
    store = StoreHandle(repository)
    handles = store.conversations() if conversation is None else [store.conversation(conversation)]
    found = [each for handle in handles for each in _collaborations(handle) if everything or each.closed is None]
    newest = sorted(found, key=lambda each: each.opened or "", reverse=True)
    return CollaborationList(collaborations=tuple(sorted(newest, key=lambda each: _ORDER.index(each.status))))


def show_collaboration(repository: Repository, conversation: str, branch: str | None = None) -> CollaborationReport:
    """Return a collaboration by its branch; or the only open one of a conversation, or else the only merged one.

    If all are closed it is the newest one; a note says so if there are several.

    Raises:
        NotFound, Ambiguous: there is none, or there are several.
    """
    handle, notes = _find_shown(repository, conversation, branch)
    entries, collaboration = read_collaboration(handle)
    conflicts = tuple(_conflicts(handle, read_ended(repository)))
    ids = {row.conflict.id for row in conflicts}
    positions = list_positions(entries)  # after a merge of a conflict-resolution branch those about its conflicts too
    stated = tuple(each for each in positions if each.argument.about not in ids)
    found = (*stated, *positions, *_positions_of(handle.conversation, conflicts))
    positions = tuple({each.message: each for each in found}.values())
    return CollaborationReport(
        collaboration=collaboration,
        positions=positions,
        debates=find_debates(positions),
        consensus=find_consensus(stated),
        decisions=tuple(_with_merged(handle, entries, _decisions(entries, conflicts))),
        conflicts=conflicts,
        notes=notes,
    )


def resolve_collaboration(repository: Repository, conversation: str, branch: str | None = None) -> BranchHandle:
    """Return the branch of a collaboration.

    Raises:
        NotFound, Ambiguous: there is none; or no branch is named, and none or several are open.
    """
    store = StoreHandle(repository)
    if branch is not None or "/" in conversation:
        handle = store.branch(conversation, branch)
        if not _is_collaboration(handle):
            hint = f"list them: scopes collaborate list {quote(handle.conversation.id)}"
            raise NotFound(f"branch {handle} is not a collaboration", hint=hint)
        return handle
    rows = list_collaborations(repository, conversation, everything=True).collaborations
    found = [each for each in rows if each.status == OPEN] or [each for each in rows if each.status == MERGED]
    identifier = store.conversation(conversation).id
    if len(found) > 1:
        names = ", ".join(each.name for each in found[:8])
        raise Ambiguous(
            f"{len(found)} collaborations are {found[0].status} in {identifier}: {names}",
            hint="name one as CONV/BRANCH",
        )
    if found:
        return store.branch(found[0].conversation, found[0].branch)
    if rows:
        hint = f"see those that are closed: scopes collaborate list {quote(identifier)} --all"
        raise NotFound(f"no collaboration is open in {identifier}", hint=hint)
    hint = f"open one: scopes collaborate {quote(identifier)} --type TYPE --agents NAMES --task TEXT"
    raise NotFound(f"there is no collaboration in {identifier}", hint=hint)


def _find_shown(repository: Repository, conversation: str, branch: str | None) -> tuple[BranchHandle, tuple[Note, ...]]:
    """Return the branch of the collaboration to show: also the newest closed one, if none is open or merged."""
    if branch is None and "/" not in conversation:
        rows = list_collaborations(repository, conversation, everything=True).collaborations
        if rows and rows[0].status == CLOSED:
            newest = StoreHandle(repository).branch(rows[0].conversation, rows[0].branch)
            hint = f"see the others: scopes collaborate list {quote(newest.conversation.id)} --all"
            note = Note(f"all {len(rows)} collaborations are closed; this is the newest one", hint)
            return newest, (note,) if len(rows) > 1 else ()
    return resolve_collaboration(repository, conversation, branch), ()


def read_collaboration(handle: BranchHandle) -> tuple[list[Entry], Collaboration]:
    """Return the messages of the branch of a collaboration, and what follows from them.

    Raises:
        NotFound: it has no request.
    """
    repository, conversation = handle.repository, handle.conversation
    entry = conversation.metadata.branches[handle.name]
    entries = list_entries(repository, entry.fork, handle.tip)
    request = next((each for each in entries if each.event == "request"), None)
    if request is None:
        raise NotFound(
            f"branch {handle} has no request for a collaboration",
            hint="open one: scopes collaborate CONV --type TYPE --agents NAMES --task TEXT",
        )
    end = next((each for each in reversed(entries) if each.event == "close"), None)
    payload, entity = request.message.payload or {}, request.details.get("entity")
    outcome = None if end is None else end.details.get("outcome")
    return entries, Collaboration(
        conversation=conversation.id,
        branch=handle.name,
        type=str(payload.get("type", "")),
        task=request.message.text,
        urgency=str(payload.get("urgency", "normal")),
        requester=AgentName(request.head.author),
        entity=entity if isinstance(entity, str) else None,
        opened=display_time(request.head),
        closed=None if end is None else display_time(end.head),
        outcome=outcome if isinstance(outcome, str) else None,
        participants=tuple(_participants(repository, request, entries)),
        messages=len(entries),
        open_conflicts=sum(row.conflict.status not in ENDED for row in _conflicts(handle, None)),
        merged_into=_find_target(handle, entries),
    )


def _find_target(handle: BranchHandle, entries: Sequence[Entry]) -> BranchName | None:
    """Return the parent of a branch if that has all its messages, without those that closed it after the merge."""
    last = next((each for each in reversed(entries) if each.event != "close"), None)
    parent, tips = handle.parent, handle.conversation.tips
    if last is None or parent is None or parent not in tips:
        return None
    return parent if is_ancestor(handle.repository, last.head.oid, tips[parent]) else None


def list_positions(entries: Sequence[Entry]) -> tuple[Position, ...]:
    """Return the newest position of each author about each subject, in the order in which they were stated."""
    found: dict[tuple[str, str], Position] = {}
    for each in entries:
        argument = each.argument
        if argument is not None:
            position = Position(
                author=AgentName(each.head.author),
                time=display_time(each.head),
                message=each.head.id,
                argument=argument,
            )
            found.pop((position.author, argument.about), None)
            found[position.author, argument.about] = position
    return tuple(found.values())


def find_consensus(positions: Sequence[Position]) -> tuple[Consensus, ...]:
    """Return for each subject who holds which position; positions are equal in any case and spacing."""
    subjects: dict[str, dict[str, list[Position]]] = {}
    for each in positions:
        same = folded(each.argument.position)
        subjects.setdefault(each.argument.about, {}).setdefault(same, []).append(each)
    return tuple(
        Consensus(
            about,
            tuple(
                (group[0].argument.position, tuple(each.author for each in group))
                for group in sorted(groups.values(), key=len, reverse=True)
            ),
        )
        for about, groups in subjects.items()
    )


def _collaborations(handle: ConversationHandle) -> list[Collaboration]:
    found = []
    for name, entry in handle.metadata.branches.items():
        if entry.purpose == PURPOSE and name in handle.tips:
            branch = BranchHandle(handle, name)
            if _is_collaboration(branch):
                found.append(read_collaboration(branch)[1])
    return found


def _is_collaboration(handle: BranchHandle) -> bool:
    entry = handle.conversation.metadata.branches.get(handle.name)
    if entry is None or entry.purpose != PURPOSE:
        return False
    return any(each.event == "request" for each in list_entries(handle.repository, entry.fork, handle.tip))


def _participants(repository: Repository, request: Entry, entries: Sequence[Entry]) -> list[Participant]:
    registry = Registry(repository)
    counts: dict[str, int] = {}
    joined: dict[str, str | None] = {}
    for each in entries:
        if each.head.author_kind == "system":
            continue  # a merge
        counts[each.head.author] = counts.get(each.head.author, 0) + 1
        joined.setdefault(each.head.author, display_time(each.head))
    numbers: dict[str, int] = {agent.name: agent.number for agent in registry.agents}
    asked = dict.fromkeys((request.head.author, *request.message.to))
    return [
        Participant(
            AgentName(name),
            joined.get(name),
            counts.get(name, 0),
            name in numbers
            and any(entry.message == request.head.id for entry in walk_entries(registry, numbers[name])),
            name in asked,
        )
        for name in asked | dict.fromkeys(counts)
    ]


def _decisions(entries: Sequence[Entry], conflicts: Sequence[ConflictRow]) -> list[StatedDecision]:
    ends = {row.conflict.key: row.conflict for row in conflicts if row.conflict.status == "resolved"}
    found = []
    for each in entries:
        if each.head.kind == "decision":
            payload = each.message.payload or {}
            topic, decision = str(payload.get("topic", "")), str(payload.get("decision", ""))
            conflict = ends.get(decision_key(topic))
            value = None if conflict is None else _value_after(conflict)
            stated = StatedDecision(topic, decision, AgentName(each.head.author), each.head.id)
            if conflict is not None and conflict.resolution is not None and value not in {None, decision}:
                stated = stated._replace(decided=value, decided_by=conflict.resolution.actor)
            found.append(stated)
    return found


def _with_merged(
    handle: BranchHandle, entries: Sequence[Entry], stated: Sequence[StatedDecision]
) -> list[StatedDecision]:
    """Return decisions with what replaced them, also where that came from a branch that was merged into this one."""
    heads = [each.head for each in entries] if stated else []
    if any(len(head.parents) > 1 for head in heads):
        fork = handle.conversation.metadata.branches[handle.name].fork
        known = {each.commit.oid: each.commit for each in entries}
        commits = walk_newest_first(handle.repository, [handle.tip], [] if fork is None else [fork], known)
        heads = list(headers_of(commits))[::-1]
    own = {each.message for each in stated}
    ends = {
        each.row.key: each
        for each in decisions_at(handle.repository, handle.tip, heads)
        if each.row.current and each.row.head.id not in own
    }
    found = []
    for each in stated:
        end = ends.get(decision_key(each.topic))
        if each.decided is None and end is not None and end.row.decision != each.decision:
            actor = AgentName(end.resolved_by or end.row.head.author)
            found.append(each._replace(decided=end.row.decision, decided_by=actor))
        else:
            found.append(each)
    return found


def describe_end(resolution: Resolution) -> str:
    """Return what a resolution did: `took source`, or the new value."""
    if resolution.choice != "value":
        return f"took {resolution.choice}"
    value = resolution.value
    return value if isinstance(value, str) else encoding.dump(value).decode().rstrip()


def _value_after(conflict: Conflict) -> str | None:
    """Return the text that a conflict ended with; None if it has no single one."""
    resolution = conflict.resolution
    if resolution is None or resolution.choice == "value":
        return None if resolution is None else describe_end(resolution)
    side = {"source": conflict.source, "target": conflict.target, "base": conflict.base}.get(resolution.choice, ())
    value = side[-1].value if side else None
    return value if isinstance(value, str) else None


def _positions_of(conversation: ConversationHandle, conflicts: Sequence[ConflictRow]) -> list[Position]:
    """Return the positions that were stated about conflicts, on their conflict-resolution branches."""
    tips, branches = conversation.tips, conversation.metadata.branches
    names = dict.fromkeys(row.branch for row in conflicts if row.branch in tips and row.branch in branches)
    wanted = {row.conflict.id for row in conflicts}
    entries = (list_entries(conversation.repository, branches[name].fork, tips[name]) for name in names)
    return [each for found in entries for each in list_positions(found) if each.argument.about in wanted]


def _conflicts(handle: BranchHandle, ended: EndedConflicts | None) -> list[ConflictRow]:
    """Return the conflicts in which the branch is a side."""
    rows = walk_conflicts(handle.repository, handle.conversation.id, ended=ended)
    return [row for row in rows if handle.name in {row.source, row.target}]
