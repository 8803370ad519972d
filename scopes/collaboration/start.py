"""`collaborate`: open a branch for a task, ask agents to take part, and put the request into their inboxes (S4-61)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from scopes.agents.agent import EVERYBODY, Agent
from scopes.agents.authors import check_typed_author
from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.registry import Registry, write_registry
from scopes.agents.send import address, delivery_of, expand
from scopes.clock import now
from scopes.collaboration.debate import folded
from scopes.collaboration.records import PURPOSE, CollaborationType, event_field, parse_type
from scopes.collaboration.report import OPEN, Collaboration, list_collaborations
from scopes.conversation.append import message_writers
from scopes.errors import Invalid
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import parse_new_branch_name
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, OperationId, free_name
from scopes.model.conversation import BranchEntry
from scopes.model.message import Author, Message, MessageKind
from scopes.model.validation import check_payload
from scopes.result import Note, Result
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


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
class Request:
    """What is asked for.

    Attributes:
        agents: Who takes part: names or numbers of agents, `@capability`, or `all`.
        entity: What it is about, as `TYPE/ID`; None for the whole conversation.
        urgency: `low`, `normal`, `high` or `critical`.
    """

    type: CollaborationType
    task: str
    agents: Sequence[str]
    urgency: str = "normal"
    entity: str | None = None
    branch: str | None = None


def start(repository: Repository, conversation: str, request: Request, *, author: Author) -> CollaborationStarted:
    """Open a branch at the tip of the active branch with a collaboration request, and deliver the request.

    The request waits for agents that are away, and is given to the programs of the others. The active branch stays the
    same.

    Raises:
        NotFound, Ambiguous: the conversation or an agent; nothing is written (S4-32).
        Invalid: no agent is named, a handoff names several, the task is empty, or the urgency is unknown.
    """
    handle = StoreHandle(repository).conversation(conversation)
    request = replace(request, type=parse_type(request.type))
    task = _check(request)
    payload = {"type": request.type, "context": task, "urgency": request.urgency}
    kind: MessageKind = "collaboration-request"
    details = {} if request.entity is None else {"entity": request.entity}
    message = replace(
        plain_message(check_typed_author(author), task),
        kind=kind,
        payload=check_payload(kind, payload),
        extra=event_field("request", **details),
    )
    earlier = [each for each in list_collaborations(repository, handle.id).collaborations if each.status == OPEN]
    with exclusive_write(repository):
        registry = Registry(repository)
        parent = handle.active_branch.name
        fork = handle.tips[parent]
        wanted = request.branch or free_name(f"{PURPOSE}/{request.type}", handle.tips)
        name = parse_new_branch_name(repository, wanted)
        if name in handle.tips:
            raise Invalid(f"branch {name!a} exists already", hint="give another name: --branch NAME")
        branch = BranchHandle(handle, name)
        receivers = expand(registry, BranchHandle(handle, parent), message, request.agents)
        if request.type == "handoff" and len(receivers) != 1:
            raise Invalid(f"a handoff goes to one agent, not {len(receivers)}", hint="name it: --agents NAME")
        twice = _named_twice(registry, BranchHandle(handle, parent), message, request.agents)
        addressed = address(message, receivers, request.agents)
        [write] = message_writers(repository, handle.id, [addressed])
        oid = write(fork)
        changes = delivery_of(addressed, oid, handle.id, name, registry, receivers)
        summary = f"open {request.type} {branch} for {', '.join(agent.name for agent in receivers[:3])}"
        tx = Transaction(repository, handle.id)
        tx.create_branch(name, oid)
        entry = BranchEntry(
            purpose=PURPOSE, agent=AgentName(author.name), parent=parent, fork=fork, created=now(), status="active"
        )
        tx.set_branch_entry(name, entry)
        tx.move_ref(AGENTS, registry.commit, write_registry(registry, changes, summary))
        operation = tx.commit("collaborate", summary, metadata_message=f"create {name}")
    queued = tuple(agent.name for agent in receivers if not agent.available)
    notes = tuple(_notes(request, receivers, earlier, queued))
    if twice:
        notes = (*notes, Note(f"named more than once, asked once: {', '.join(twice)}"))
    delivered = tuple(agent.name for agent in receivers if agent.available)
    failures = deliver_to_programs(repository, delivered, SentMessage(message.id, [operation.id]))
    return CollaborationStarted(
        conversation=handle.id,
        branch=name,
        type=request.type,
        task=task,
        message=message.id,
        delivered_to=delivered,
        queued_for=queued,
        operation=operation.id,
        notes=(*notes, *failures),
    )


def _named_twice(registry: Registry, branch: BranchHandle, message: Message, agents: Sequence[str]) -> list[str]:
    """Return the agents that are named several times, by name or number."""
    single = [each for each in agents if each != EVERYBODY and not each.startswith("@")]
    found = Counter(agent.name for each in single for agent in expand(registry, branch, message, [each]))
    return [name for name, count in found.items() if count > 1]


def _notes(
    request: Request, receivers: Sequence[Agent], earlier: Sequence[Collaboration], queued: Sequence[str]
) -> Iterator[Note]:
    """Yield notes about who is away, and about an open collaboration of the same agents on the same task."""
    if queued:
        yield Note(f"away, so the request waits: {', '.join(queued)}")
    wanted, names = (request.type, folded(request.task)), {agent.name for agent in receivers}
    for each in earlier:
        if (each.type, folded(each.task)) == wanted and names <= {one.name for one in each.participants}:
            text = f"{each.name} is open already, for the same task and agents"
            yield Note(text, "if one is enough: scopes undo")
            return


def _check(request: Request) -> str:
    if not request.agents:
        raise Invalid("nobody is asked", hint="--agents NAME,NAME, --agents @capability or --agents all")
    task = request.task.strip()
    if not task:
        raise Invalid("there is no task", hint='for example: --task "choose the queue"')
    if request.entity is not None and not all(request.entity.partition("/")):
        raise Invalid(f"{request.entity!a} is not an entity: TYPE/ID", hint="for example: --entity file/login.py")
    return task
