"""Work of several agents on a task: a branch that begins with a request, in which they state positions (S4-61).

The field `collaboration` or `argument` of a message says what it does; everything else is derived from the messages, so
branches, merges and copies carry it, and nothing can disagree with the history. A debate is derived from the positions
alone: nobody has to start a phase, and the same positions give the same debate on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.agents.authors import check_typed_author
from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.inbox import remove_message, walk_entries
from scopes.agents.registry import Registry, write_registry
from scopes.agents.send import address, delivery_of, expand
from scopes.clock import now
from scopes.conversation.append import message_writers
from scopes.conversation.decisions import decisions_at
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import (
    MessageHeader,
    display_time,
    headers_of,
    plain_message,
    read_body,
    walk_headers_oldest_first,
)
from scopes.history.names import parse_new_branch_name
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId, free_name
from scopes.merge.conflicts import ConflictRow, EndedConflicts, read_ended, walk_conflicts
from scopes.merge.keys import decoded_key
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none
from scopes.model.conflicts import ENDED, Resolution
from scopes.model.conversation import BranchEntry
from scopes.model.message import (
    ARGUMENT,
    Argument,
    Author,
    Message,
    MessageKind,
    Position,
    evidence_object,
    list_support,
    read_argument,
)
from scopes.model.validation import check_payload
from scopes.result import INLINE, Column, Note, Result, shown, written_by
from scopes.store.graph import is_ancestor
from scopes.store.objects import Commit, read_commit
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

PURPOSE: Final = "collaboration"
CollaborationType: TypeAlias = Literal[
    "peer-review", "joint-analysis", "consensus", "knowledge-sharing", "verification", "handoff"
]
TYPES: Final[tuple[CollaborationType, ...]] = get_args(CollaborationType)
THE_TASK: Final = "the task"
"""What an argument in a collaboration is about if nothing else is said."""
OPEN, MERGED, CLOSED = "open", "merged", "closed"
_ORDER: Final = (OPEN, MERGED, CLOSED)
_FIELD: Final = "collaboration"
_OPEN_ONE: Final = "--type TYPE --agents NAMES --task TEXT"
Phase: TypeAlias = Literal["arguments", "consensus", "compromise", "common-ground", "escalation"]


class Shared(NamedTuple):
    """Something that several participants say: a reason, a trade-off or an alternative."""

    text: str
    agents: tuple[AgentName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One position, and what speaks for it.

    Attributes:
        holders: Who holds it, in the order of stating.
        accepted_by: Who else names it as an alternative.
        confidence: The mean confidence of the holders who state one.
        evidence: How many pieces of evidence the holders have.
        weight: The sum of their weights; one without a weight counts 1.
    """

    position: str
    holders: tuple[AgentName, ...]
    accepted_by: tuple[AgentName, ...]
    confidence: float | None
    evidence: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """The debate about one subject.

    Attributes:
        about: A topic, or the id of a conflict.
        phase: `arguments` while one participant has stated a position; `consensus` if all hold the same; `compromise`
            if all hold or accept one; `common-ground` if they share at least something; else `escalation`: somebody
            neutral has to decide.
        common_ground: What at least two participants say beside their positions, that of most first.
        choices: The positions, the best supported first: by who holds or accepts it, confidence, weight of evidence.
    """

    about: str
    phase: Phase
    common_ground: tuple[Shared, ...]
    choices: tuple[Choice, ...]


def find_debates(positions: Sequence[Position]) -> tuple[Debate, ...]:
    """Return the debate about each subject, in the order in which the subjects came up.

    Texts that differ in case and spacing only are equal.
    """
    subjects: dict[str, list[Position]] = {}
    for each in positions:
        subjects.setdefault(each.argument.about, []).append(each)
    return tuple(_debate(about, found) for about, found in subjects.items())


def _debate(about: str, positions: Sequence[Position]) -> Debate:
    authors = {each.author for each in positions}
    groups: dict[str, list[Position]] = {}
    stated: dict[str, tuple[str, dict[AgentName, None]]] = {}
    for each in positions:
        argument = each.argument
        groups.setdefault(_folded(argument.position), []).append(each)
        for text in (*argument.reasoning, *argument.trade_offs, *argument.alternatives):
            stated.setdefault(_folded(text), (text, {}))[1][each.author] = None
    shared = [Shared(text, tuple(names)) for text, names in stated.values() if len(names) > 1]
    choices = [_choice(group, [each for each in positions if each not in group]) for group in groups.values()]
    phase: Phase = "common-ground" if shared else "escalation"
    if len(authors) < 2:
        phase = "arguments"
    elif len(choices) == 1:
        phase = "consensus"
    elif any(len(each.holders) + len(each.accepted_by) == len(authors) for each in choices):
        phase = "compromise"
    return Debate(
        about=about,
        phase=phase,
        common_ground=tuple(sorted(shared, key=lambda each: -len(each.agents))),
        choices=tuple(
            sorted(choices, key=lambda c: (-len(c.holders) - len(c.accepted_by), -(c.confidence or 0), -c.weight))
        ),
    )


def _choice(group: Sequence[Position], others: Iterable[Position]) -> Choice:
    arguments = [each.argument for each in group]
    name = _folded(arguments[0].position)
    stated = [each.confidence for each in arguments if each.confidence is not None]
    evidence = [each for argument in arguments for each in argument.evidence]
    return Choice(
        position=arguments[0].position,
        holders=tuple(each.author for each in group),
        accepted_by=tuple(each.author for each in others if name in map(_folded, each.argument.alternatives)),
        confidence=round(sum(stated) / len(stated), 3) if stated else None,
        evidence=len(evidence),
        weight=round(sum(1.0 if each.weight is None else each.weight for each in evidence), 3),
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def check_argument(argument: Argument) -> Argument:
    """Return an argument if it can be stored.

    Raises:
        Invalid: it has no position, or its confidence or a weight is not between 0 and 1.
    """
    if not argument.position.strip():
        raise Invalid("the position is empty", hint='for example: "keep the queue in PostgreSQL"')
    shares = [("confidence", argument.confidence), *(("weight", each.weight) for each in argument.evidence)]
    for name, share in shares:
        if share is not None and not 0 <= share <= 1:
            raise Invalid(f"the {name} {share:g} is not between 0 and 1", hint="for example: 0.8")
    return argument


def argument_message(argument: Argument, author: Author) -> Message:
    """Return the message that makes an argument: the position, then a line for each thing that backs it.

    Raises:
        Invalid: the author or the argument is not valid.
    """
    check_argument(argument)
    rows = list_support(argument)
    text = "\n".join((argument.position, *([""] if rows else []), *(f"- {row}" for row in rows)))
    document = {
        "about": argument.about,
        "position": argument.position,
        **without_none(confidence=argument.confidence),
        "reasoning": list(argument.reasoning),
        "evidence": [evidence_object(each) for each in argument.evidence],
        "trade_offs": list(argument.trade_offs),
        "alternatives": list(argument.alternatives),
    }
    return replace(plain_message(check_typed_author(author), text), extra={ARGUMENT: document})


class Entry(NamedTuple):
    """A message of a collaboration with its body."""

    head: MessageHeader
    message: Message

    @property
    def details(self) -> dict[str, Any]:
        """What the message does to the collaboration: `event` is `request`, `join` or `close`; empty if nothing."""
        found = self.message.extra.get(_FIELD)
        return found if isinstance(found, dict) else {}

    def is_event(self, event: str) -> bool:
        """Return True if the message is this event."""
        return self.details.get("event") == event


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

    decided, decided_by: what is in effect instead where the branch was merged, else on it, and who decided that
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
    opened: str | None
    closed: str | None
    outcome: str | None
    participants: tuple[Participant, ...]
    messages: int
    open_conflicts: int = 0
    merged_into: BranchName | None = None

    @property
    def name(self) -> str:
        """Its branch with the conversation, as people name it: `conv-001/collaboration/consensus`."""
        return f"{self.conversation}/{self.branch}"

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
            return f"open one: scopes collaborate CONV {_OPEN_ONE}"
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

    `positions` and `debates` are about topics, then about conflicts.
    """

    kind = "collaboration"

    collaboration: Collaboration = field(metadata=INLINE)
    positions: tuple[Position, ...]
    debates: tuple[Debate, ...]
    decisions: tuple[StatedDecision, ...]
    conflicts: tuple[ConflictRow, ...] = field(metadata=written_by(_end_conflicts))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationStarted(Result):
    """A collaboration that was opened: its branch, its request, and who was asked."""

    conversation: ConversationId
    branch: BranchName
    type: CollaborationType
    task: str
    message: MessageId
    delivered_to: tuple[AgentName, ...]
    queued_for: tuple[AgentName, ...]
    operation: OperationId

    @property
    def sentence(self) -> str:
        """What was opened for whom."""
        return f"opened {self.answer} for {', '.join((*self.delivered_to, *(f'{n} (away)' for n in self.queued_for)))}"

    @property
    def answer(self) -> str:
        """The branch with its conversation."""
        return f"{self.conversation}/{self.branch}"

    @property
    def next_step(self) -> str:
        """How to see who joins."""
        return f"see who joins: scopes collaborate show {quote(self.answer)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationChanged(Result):
    """What somebody did in a collaboration: `joined`, `argued` or `closed`.

    Attributes:
        branch: The branch that has the message; for an argument about a conflict its conflict-resolution branch.
        about: The subject of an argument.
        outcome: What was said when it was closed.
        message: The message that says so; if the author had joined before, the message with which it did.
        operation: None if nothing changed.
        report: What came of it, when it was closed.
    """

    conversation: ConversationId
    branch: BranchName
    change: str
    author: str
    message: MessageId
    about: str | None = None
    outcome: str | None = None
    operation: OperationId | None = None
    report: CollaborationReport | None = None

    @property
    def sentence(self) -> str:
        """What was done."""
        where = f"{self.conversation}/{self.branch}"
        if self.operation is None:
            return f"{self.author} takes part in {where}"
        return f"{self.author} {self.change}{'' if self.about is None else f' about {self.about}'}: {where}"

    @property
    def answer(self) -> str:
        """The id of the message."""
        return self.message

    @property
    def next_step(self) -> str:
        """How to read what came of it."""
        where = quote(f"{self.conversation}/{self.branch}")
        return "" if self.report is None else f"read what came of it: scopes collaborate show {where}"


def list_collaborations(
    repository: Repository, conversation: str | None = None, *, everything: bool = False
) -> CollaborationList:
    """List the collaborations of one conversation or of all that are not closed; with `everything` also closed ones.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
    """
    store = StoreHandle(repository)
    handles = store.conversations() if conversation is None else [store.conversation(conversation)]
    branches = (BranchHandle(handle, name) for handle in handles for name in handle.metadata.branches)
    read = (read_collaboration(branch) for branch in branches)
    found = [each[1] for each in read if each is not None and (everything or each[1].closed is None)]
    newest = sorted(found, key=lambda each: each.opened or "", reverse=True)
    return CollaborationList(collaborations=tuple(sorted(newest, key=lambda each: _ORDER.index(each.status))))


def show_collaboration(repository: Repository, conversation: str, branch: str | None = None) -> CollaborationReport:
    """Return a collaboration by its branch; or the only open one of a conversation, or else the only merged one.

    If all are closed it is the newest one.

    Raises:
        NotFound, Ambiguous: there is none, or there are several.
    """
    handle, entries, collaboration = find_collaboration(repository, conversation, branch, closed=True)
    conflicts = tuple(_conflicts(handle, read_ended(repository)))
    ids = {row.conflict.id for row in conflicts}
    positions = list_positions(entries)  # after a merge of a conflict-resolution branch those about its conflicts too
    stated = [each for each in positions if each.argument.about not in ids]
    tips, branches = handle.conversation.tips, handle.conversation.metadata.branches
    for name in dict.fromkeys(row.branch for row in conflicts if row.branch in tips and row.branch in branches):
        argued = list_positions(list_entries(repository, branches[name].fork, tips[name]))
        positions = (*positions, *(each for each in argued if each.argument.about in ids))
    positions = tuple({each.message: each for each in (*stated, *positions)}.values())
    tip = handle.tip if collaboration.merged_into is None else tips[collaboration.merged_into]
    return CollaborationReport(
        collaboration=collaboration,
        positions=positions,
        debates=find_debates(positions),
        decisions=tuple(_decisions(repository, tip, {head.id for head, _ in entries if head.kind == "decision"})),
        conflicts=conflicts,
    )


def find_collaboration(
    repository: Repository, conversation: str, branch: str | None = None, *, closed: bool = False
) -> tuple[BranchHandle, list[Entry], Collaboration]:
    """Return the branch of a collaboration, its messages, and what follows from them.

    closed: if no branch is named, the newest closed one will do if none is open or merged

    Raises:
        NotFound, Ambiguous: there is none; or no branch is named, and none or several are open.
    """
    store = StoreHandle(repository)
    if branch is not None or "/" in conversation:
        handle = store.branch(conversation, branch)
        found = read_collaboration(handle)
        if found is None:
            hint = f"list them: scopes collaborate list {quote(handle.conversation.id)}"
            raise NotFound(f"branch {handle} is not a collaboration", hint=hint)
        return handle, *found
    rows = list_collaborations(repository, conversation, everything=True).collaborations
    chosen = next((few for few in ([row for row in rows if row.status == each] for each in _ORDER) if few), [])
    identifier = store.conversation(conversation).id
    if not chosen:
        hint = f"open one: scopes collaborate {quote(identifier)} {_OPEN_ONE}"
        raise NotFound(f"there is no collaboration in {identifier}", hint=hint)
    if chosen[0].status == CLOSED and not closed:
        hint = f"see those that are closed: scopes collaborate list {quote(identifier)} --all"
        raise NotFound(f"no collaboration is open in {identifier}", hint=hint)
    if len(chosen) > 1 and chosen[0].status != CLOSED:
        names = ", ".join(each.name for each in chosen[:8])
        text = f"{len(chosen)} collaborations are {chosen[0].status} in {identifier}: {names}"
        raise Ambiguous(text, hint="name one as CONV/BRANCH")
    return find_collaboration(repository, chosen[0].conversation, chosen[0].branch)


def read_collaboration(handle: BranchHandle) -> tuple[list[Entry], Collaboration] | None:
    """Return the messages of the branch of a collaboration, and what follows from them; None if it is none."""
    repository, conversation = handle.repository, handle.conversation
    entry = conversation.metadata.branches.get(handle.name)
    if entry is None or entry.purpose != PURPOSE or handle.name not in conversation.tips:
        return None
    entries = list_entries(repository, entry.fork, handle.tip)
    request = next((each for each in entries if each.is_event("request")), None)
    if request is None:
        return None
    end = next((each for each in reversed(entries) if each.is_event("close")), None)
    payload = request.message.payload or {}
    outcome = None if end is None else end.details.get("outcome")
    return entries, Collaboration(
        conversation=conversation.id,
        branch=handle.name,
        type=str(payload.get("type", "")),
        task=request.message.text,
        urgency=str(payload.get("urgency", "normal")),
        requester=AgentName(request.head.author),
        opened=display_time(request.head),
        closed=None if end is None else display_time(end.head),
        outcome=outcome if isinstance(outcome, str) else None,
        participants=tuple(_participants(repository, request, entries)),
        messages=len(entries),
        open_conflicts=sum(row.conflict.status not in ENDED for row in _conflicts(handle, None)),
        merged_into=_find_target(handle, entries),
    )


def list_entries(repository: Repository, fork: Oid | None, tip: Oid) -> list[Entry]:
    """Return the messages that a branch itself has had since its fork point, oldest first."""
    commits: list[Commit] = []
    oid: Oid | None = tip
    while oid is not None and oid != fork:
        commits.append(read_commit(repository, oid))
        oid = commits[-1].parents[0] if commits[-1].parents else None
    return [Entry(head, read_body(repository, head)) for head in headers_of(reversed(commits))]


def list_positions(entries: Sequence[Entry]) -> tuple[Position, ...]:
    """Return the newest position of each author about each subject, in the order in which they were stated."""
    found: dict[tuple[str, str], Position] = {}
    for head, message in entries:
        argument = read_argument(message.extra.get(ARGUMENT))
        if argument is not None:
            author, time = AgentName(head.author), display_time(head)
            found.pop((author, argument.about), None)
            found[author, argument.about] = Position(author=author, time=time, message=head.id, argument=argument)
    return tuple(found.values())


def _find_target(handle: BranchHandle, entries: Sequence[Entry]) -> BranchName | None:
    """Return the parent of a branch if that has all its messages, without those that closed it after the merge."""
    last = next((each for each in reversed(entries) if not each.is_event("close")), None)
    parent, tips = handle.parent, handle.conversation.tips
    if last is None or parent is None or parent not in tips:
        return None
    return parent if is_ancestor(handle.repository, last.head.oid, tips[parent]) else None


def _participants(repository: Repository, request: Entry, entries: Sequence[Entry]) -> Iterator[Participant]:
    registry = Registry(repository)
    counts: dict[str, int] = {}
    joined: dict[str, str | None] = {}
    for head, _ in entries:
        if head.author_kind != "system":  # a merge
            counts[head.author] = counts.get(head.author, 0) + 1
            joined.setdefault(head.author, display_time(head))
    numbers: dict[str, int] = {agent.name: agent.number for agent in registry.agents}
    asked = dict.fromkeys((request.head.author, *request.message.to))
    for name in asked | dict.fromkeys(counts):
        unread = name in numbers and any(
            entry.message == request.head.id for entry in walk_entries(registry, numbers[name])
        )
        yield Participant(AgentName(name), joined.get(name), counts.get(name, 0), unread, name in asked)


def _decisions(repository: Repository, tip: Oid, messages: set[MessageId]) -> Iterator[StatedDecision]:
    """Yield the decisions that some messages state, with what is in effect at a tip instead."""
    if not messages:
        return
    stated = decisions_at(repository, tip, list(walk_headers_oldest_first(repository, [tip])))
    current = {each.row.key: each for each in stated if each.row.current}
    for row in (each.row for each in stated if each.row.head.id in messages):
        found = StatedDecision(row.topic, row.decision, AgentName(row.head.author), row.head.id)
        end = current.get(row.key)
        if end is not None and end.row.decision != row.decision:
            found = found._replace(decided=end.row.decision, decided_by=end.resolved_by or end.row.head.author)
        yield found


def _conflicts(handle: BranchHandle, ended: EndedConflicts | None) -> list[ConflictRow]:
    """Return the conflicts in which the branch is a side."""
    rows = walk_conflicts(handle.repository, handle.conversation.id, ended=ended)
    return [row for row in rows if handle.name in {row.source, row.target}]


def parse_type(text: str) -> CollaborationType:
    """Parse a type of collaboration, in any case, with `_` or `-`.

    Raises:
        Invalid: there is no such type.
    """
    name = text.strip().lower().replace("_", "-")
    if name not in TYPES:
        raise Invalid(f"{text!a} is not a type of collaboration", hint=f"types: {', '.join(TYPES)}")
    return name


def start(
    repository: Repository,
    conversation: str,
    type: str,  # noqa: A002
    task: str,
    agents: Sequence[str],
    *,
    author: Author,
    urgency: str = "normal",
    branch: str | None = None,
) -> CollaborationStarted:
    """Open a branch at the tip of the active branch with a collaboration request, and deliver the request.

    The request waits for agents that are away, and is given to the programs of the others. The active branch stays the
    same.

    type: one of TYPES, in any case
    agents: who takes part: names or numbers of agents, `@capability`, or `all`
    urgency: `low`, `normal`, `high` or `critical`

    Raises:
        NotFound, Ambiguous: the conversation or an agent; nothing is written (S4-32).
        Invalid: no agent is named, a handoff names several, the task is empty, or the urgency is unknown.
    """
    handle, wanted = StoreHandle(repository).conversation(conversation), parse_type(type)
    text = task.strip()
    if not agents:
        raise Invalid("nobody is asked", hint="--agents NAME,NAME, --agents @capability or --agents all")
    if not text:
        raise Invalid("there is no task", hint='for example: --task "choose the queue"')
    kind: MessageKind = "collaboration-request"
    payload = check_payload(kind, {"type": wanted, "context": text, "urgency": urgency})
    message = _event(author, text, "request", kind=kind, payload=payload)
    with exclusive_write(repository):
        registry = Registry(repository)
        parent = handle.active_branch
        name = parse_new_branch_name(repository, branch or free_name(f"{PURPOSE}/{wanted}", handle.tips))
        if name in handle.tips:
            raise Invalid(f"branch {name!a} exists already", hint="give another name: --branch NAME")
        receivers = expand(registry, parent, message, agents)
        if wanted == "handoff" and len(receivers) != 1:
            raise Invalid(f"a handoff goes to one agent, not {len(receivers)}", hint="name it: --agents NAME")
        addressed = address(message, receivers, agents)
        [write] = message_writers(repository, handle.id, [addressed])
        oid = write(parent.tip)
        changes = delivery_of(addressed, oid, handle.id, name, registry, receivers)
        summary = f"open {wanted} {handle.id}/{name} for {', '.join(agent.name for agent in receivers[:3])}"
        tx = Transaction(repository, handle.id)
        tx.create_branch(name, oid)
        entry = BranchEntry(
            purpose=PURPOSE, agent=AgentName(author.name), parent=parent.name, fork=parent.tip, created=now(),
            status="active",
        )  # fmt: skip
        tx.set_branch_entry(name, entry)
        tx.move_ref(AGENTS, registry.commit, write_registry(registry, changes, summary))
        operation = tx.commit("collaborate", summary, metadata_message=f"create {name}")
    queued = tuple(agent.name for agent in receivers if not agent.available)
    delivered = tuple(agent.name for agent in receivers if agent.available)
    notes = (Note(f"away, so the request waits: {', '.join(queued)}"),) if queued else ()
    failures = deliver_to_programs(repository, delivered, SentMessage(message.id, [operation.id]))
    return CollaborationStarted(
        conversation=handle.id,
        branch=name,
        type=wanted,
        task=text,
        message=message.id,
        delivered_to=delivered,
        queued_for=queued,
        operation=operation.id,
        notes=(*notes, *failures),
    )


def join(
    repository: Repository, conversation: str, branch: str | None = None, *, author: Author
) -> CollaborationChanged:
    """Take part in a collaboration: a message says so, and the request leaves the inbox of the author.

    If the author has joined before, nothing changes; a note says so.

    Raises:
        NotFound, Ambiguous: there is no such collaboration.
        Refused: it is closed or merged.
    """
    with exclusive_write(repository):
        handle, entries, collaboration = find_collaboration(repository, conversation, branch)
        _require_open(collaboration)
        joined = (each.head.id for each in entries if each.is_event("join") and each.head.author == author.name)
        before = next(joined, None)
        if before is not None:
            return CollaborationChanged(
                conversation=handle.conversation.id, branch=handle.name, change="joined", author=author.name,
                message=before, notes=(Note(f"{author.name} has joined {handle} already"),),
            )  # fmt: skip
        message = _event(author, "joined", "join")
        return write_change(handle, message, f"{author.name} joins {handle}", "joined", entries)


def argue(
    repository: Repository, conversation: str, branch: str | None, argument: Argument, *, author: Author
) -> CollaborationChanged:
    """State a position in a collaboration; a later one of the same author about the same subject replaces it.

    The request leaves the inbox of the author, who takes part now.

    Raises:
        NotFound, Ambiguous: there is no such collaboration.
        Refused: it is closed or merged.
        Invalid: the position is empty, or the confidence is not between 0 and 1.
    """
    message = argument_message(argument, author)
    with exclusive_write(repository):
        handle, entries, collaboration = find_collaboration(repository, conversation, branch)
        _require_open(collaboration)
        summary = f"{author.name} argues about {argument.about} in {handle}"
        return replace(write_change(handle, message, summary, "argued", entries), about=argument.about)


def close(
    repository: Repository, conversation: str, branch: str | None = None, *, author: Author, outcome: str = ""
) -> CollaborationChanged:
    """Close a collaboration, also a merged one; nobody can join or argue any more.

    The closing message sums up the positions, decisions and conflicts.

    Raises:
        NotFound, Ambiguous: there is no such collaboration.
        Refused: it is closed already.
    """
    with exclusive_write(repository):
        handle, _, collaboration = find_collaboration(repository, conversation, branch)
        _require_not_closed(collaboration)
        report = show_collaboration(repository, handle.conversation.id, handle.name)
        text = outcome.strip()
        message = _event(author, _sum_up(report, text), "close", outcome=text)
        done = write_change(handle, message, f"close {handle}", "closed")
        closed = show_collaboration(repository, handle.conversation.id, handle.name)
    notes: tuple[Note, ...] = ()
    if collaboration.open_conflicts:
        hint = f"see: scopes conflicts list {quote(handle.conversation.id)}"
        verb = "is" if collaboration.open_conflicts == 1 else "are"
        notes = (Note(f"{collaboration.open_conflicts} of its conflicts {verb} still open", hint),)
    return replace(done, outcome=text, notes=notes, report=closed)


def _sum_up(report: CollaborationReport, outcome: str) -> str:
    """Return the text of a closing message: the outcome, then a line each for positions, decisions and conflicts."""
    keys = {row.conflict.id: decoded_key(row.conflict.key) for row in report.conflicts}
    positions = [
        f"{each.author} on {keys.get(each.argument.about, each.argument.about)}: {each.argument.position}"
        for each in report.positions
    ]
    decisions, conflicts = [], []
    for each in report.decisions:
        stated = f"{each.decision} ({each.author})"
        decided = stated if each.decided is None else f"{each.decided} ({each.decided_by}), instead of {stated}"
        decisions.append(f"{each.topic}: {decided}")
    for conflict in (row.conflict for row in report.conflicts):
        end = conflict.resolution
        conflicts.append(
            f"{decoded_key(conflict.key)} {conflict.status}" + (f", {describe_end(end)}, by {end.actor}" if end else "")
        )
    parts = (("Positions", positions), ("Decisions", decisions), ("Conflicts", conflicts))
    lines = [f"{name}: {'; '.join(' '.join(text.split()) for text in texts)}" for name, texts in parts if texts]
    return "\n\n".join((outcome or "closed", *(["\n".join(lines)] if lines else ())))


def describe_end(resolution: Resolution) -> str:
    """Return what a resolution did: `took source`, or the new value."""
    if resolution.choice != "value":
        return f"took {resolution.choice}"
    value = resolution.value
    return value if isinstance(value, str) else canonical_json.dump(value).decode().rstrip()


def _event(
    author: Author,
    text: str,
    event: str,
    *,
    kind: MessageKind = "plain",
    payload: dict[str, Any] | None = None,
    **details: str,
) -> Message:
    """Return the message of an event in a collaboration."""
    message = plain_message(check_typed_author(author), text)
    return replace(message, kind=kind, payload=payload, extra={_FIELD: {"event": event, **details}})


def write_change(
    handle: BranchHandle, message: Message, summary: str, change: str, entries: Sequence[Entry] = ()
) -> CollaborationChanged:
    """Append a message to a branch, as one operation; requires `exclusive_write`.

    entries: those of the collaboration in which the author takes part: its request leaves the inbox of the author
    """
    repository, author = handle.repository, message.author
    tx, tip = Transaction(repository, handle.conversation.id), handle.tip
    request = next((each.head.id for each in entries if each.is_event("request")), None)
    registry = Registry(repository)
    agent = registry.find_named(author.name)
    read = {} if agent is None or request is None else remove_message(registry, agent, request)
    if read:
        tx.move_ref(AGENTS, registry.commit, write_registry(registry, read, summary))
    [write] = message_writers(repository, handle.conversation.id, [message])
    tx.move_branch(handle.name, tip, write(tip))
    operation = tx.commit(f"collaborate-{change}", summary)
    return CollaborationChanged(
        conversation=handle.conversation.id, branch=handle.name, change=change, author=author.name,
        message=message.id, operation=operation.id,
    )  # fmt: skip


def _require_open(collaboration: Collaboration) -> None:
    """Refuse what would be added to a collaboration that has ended."""
    _require_not_closed(collaboration)
    if collaboration.merged_into is not None:
        again = f"scopes collaborate CONV {_OPEN_ONE}"
        hint = f"close it: scopes collaborate close {quote(collaboration.name)}; or open another one: {again}"
        raise Refused(f"{collaboration.name} was merged into {collaboration.merged_into}", hint=hint)


def _require_not_closed(collaboration: Collaboration) -> None:
    if collaboration.closed is not None:
        hint = f"see: scopes collaborate show {quote(collaboration.name)}"
        raise Refused(f"{collaboration.name} is closed since {collaboration.closed}", hint=hint)
