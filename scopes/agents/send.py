"""`send`: append a message and deliver it to registered agents, as one operation (S4-30 to S4-35).

Who is named by `@capability`, `all` or the kind of the message is worked out when it is sent, and stored with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from scopes.agents.agent import EVERYBODY, Agent
from scopes.agents.inbox import add_entries
from scopes.agents.received import InboxEntry
from scopes.agents.registry import KIND, Registry, suggest_capability, write_registry
from scopes.clock import now
from scopes.conversation.append import message_writers
from scopes.errors import Invalid, NoAvailableAgents, NotFound
from scopes.history.handles import BranchHandle, participants_of, read_uuid
from scopes.history.names import list_branch_tips
from scopes.history.sessions import note_followed
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model.message import Message
from scopes.result import Result, short_id
from scopes.store.objects import BlobChange, read_commit
from scopes.store.refs import AGENTS
from scopes.store.transactions import exclusive_write, require_unpurged

REVIEWERS = "@review"
_ROUTING = "routing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed(Result):
    """A message that was sent: who got it, and for whom it waits, sorted by number (S4-30)."""

    kind = "routing"

    message: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    delivered_to: tuple[AgentName, ...]
    queued_for: tuple[AgentName, ...]
    operation: OperationId

    @property
    def sentence(self) -> str:
        """What was sent, and the receivers."""
        return f"sent {short_id(self.message)} in {self.conversation}/{self.branch}: {self.remark}"

    @property
    def answer(self) -> str:
        """The id of the message."""
        return self.message

    @property
    def remark(self) -> str:
        """Who got the message and for whom it waits."""
        return describe_receivers(self.delivered_to, self.queued_for)


def describe_receivers(delivered_to: Sequence[str], queued_for: Sequence[str]) -> str:
    """Return who got a message and for whom it waits."""
    parts = (("delivered to", delivered_to), ("waiting for", queued_for))
    return "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)


def send(
    branch: BranchHandle,
    message: Message,
    to: Sequence[str] = (),
    *,
    queue: bool = False,
    made_of: Collection[Oid] = (),
) -> Routed:
    """Append a message to a branch and put it into the inboxes of agents; either both happen or nothing.

    to: names or numbers of agents, `@capability`, or `all`. Without any, the kind of the message decides: proposals go
        to agents with the capability `review`, collaboration requests to those with the capability that they name,
        analyses to the registered participants of the conversation (S4-35).
    queue: send also if nobody is available.
    made_of: commits whose text the message has; Busy is raised if something of it was purged meanwhile.

    Raises:
        NotFound: a name or a capability is unknown; or the branch was deleted.
        Invalid: no receiver is named, and the kind names none.
        NoAvailableAgents: no receiver is available, and `queue` is not set (S4-31).
    """
    repository, conversation = branch.repository, branch.conversation.id
    with exclusive_write(repository):
        require_unpurged(repository, conversation, made_of)
        registry = Registry(repository)
        receivers, available = _find_receivers(registry, branch, message, to, queue=queue)
        addressed = address(message, receivers, to)
        tip = list_branch_tips(repository, conversation).get(branch.name)
        if tip is None:
            raise NotFound(f"branch {branch} was deleted", hint="restore it: scopes undo")
        [write] = message_writers(repository, conversation, [addressed])
        oid = write(tip)
        changes = delivery_of(message, oid, conversation, branch.name, registry, receivers)
        summary = f"send {message.id[:8]} of {branch} to {_listed(receivers)}"
        tx = Transaction(repository, conversation)
        tx.move_branch(branch.name, tip, oid)
        tx.move_ref(AGENTS, registry.commit, write_registry(registry, changes, summary))
        operation = tx.commit(f"{KIND}-send", summary)
    return Routed(
        notes=note_followed(branch, oid, "send"),
        message=message.id,
        oid=oid,
        conversation=conversation,
        branch=branch.name,
        delivered_to=tuple(agent.name for agent in available),
        queued_for=tuple(agent.name for agent in receivers if not agent.available),
        operation=operation.id,
    )


def _find_receivers(
    registry: Registry, branch: BranchHandle, message: Message, to: Sequence[str], *, queue: bool
) -> tuple[list[Agent], list[Agent]]:
    """Return who gets a message, and which of them are available; raises as `send`."""
    receivers = expand(registry, branch, message, to)
    available = [agent for agent in receivers if agent.available]
    if not available and not queue:
        names = ", ".join(agent.name for agent in receivers)
        raise NoAvailableAgents(f"no agent is available: {names}", hint="to let the message wait for them: --queue")
    return receivers, available


def address(message: Message, receivers: Sequence[Agent], to: Sequence[str]) -> Message:
    """Return the message with its receivers, and who of them was available when it was sent (S4-34)."""
    routing = {
        "to": list(to),
        "delivered_to": [agent.name for agent in receivers if agent.available],
        "queued_for": [agent.name for agent in receivers if not agent.available],
    }
    names = tuple(agent.name for agent in receivers)
    return replace(message, to=names, extra={**message.extra, _ROUTING: routing})


def delivery_of(  # noqa: PLR0917 - a message, where it is, and who gets it
    message: Message,
    oid: Oid,
    conversation: ConversationId,
    branch: BranchName,
    registry: Registry,
    receivers: Sequence[Agent],
) -> dict[str, BlobChange]:
    """Return the changes of the registry that put a stored message into the inboxes of its receivers."""
    entry = InboxEntry(
        sequence=0,
        message=message.id,
        oid=oid,
        conversation=conversation,
        uuid=read_uuid(registry.repository, conversation),
        branch=branch,
        sender=AgentName(message.author.name),
        sent=now(),
    )
    return add_entries(registry, {agent.number: not agent.available for agent in receivers}, entry)


def expand(registry: Registry, branch: BranchHandle, message: Message, to: Sequence[str]) -> list[Agent]:
    """Return the agents that a message goes to, each once, by number; its author is in no group.

    Raises:
        NotFound, Ambiguous, Invalid: as `send`.
    """
    found: dict[int, Agent] = {}
    targets = [each for target in to for each in _split(registry, target)] if to else _default_targets(message)
    for target in targets:
        for agent in _resolve(registry, target, message.author.name):
            found[agent.number] = agent
    if not to and message.kind == "analysis":
        tips = list_branch_tips(branch.repository, branch.conversation.id).values()
        participants = set(participants_of(branch.repository, (read_commit(branch.repository, tip) for tip in tips)))
        for agent in registry.agents:
            if agent.name in participants and agent.name != message.author.name:
                found[agent.number] = agent
    if not found:
        hint = "name them: --to NAME, --to @capability or --to all; see: scopes agents list"
        raise NotFound("no registered agent is to get this message", hint=hint)
    return [found[number] for number in sorted(found)]


def _default_targets(message: Message) -> tuple[str, ...]:
    match message.kind:
        case "proposal":
            return (REVIEWERS,)
        case "collaboration-request":
            payload = message.payload or {}
            return (f"@{payload.get('capability') or payload.get('type')}",)
        case "analysis":
            return ()
    text = f"no receiver is named, and a message of kind {message.kind} has no receivers by default"
    raise Invalid(text, hint="--to NAME, --to @capability or --to all")


def _resolve(registry: Registry, target: str, author: str) -> list[Agent]:
    others = [agent for agent in registry.agents if agent.name != author]
    if target == EVERYBODY:
        return others
    if not target.startswith("@"):
        return [_find(registry, target)]
    found = [agent for agent in others if target[1:] in agent.capabilities]
    if not found:
        hint = suggest_capability(others, target[1:], prefix="@")
        raise NotFound(f"no other agent has the capability {target[1:]!a}", hint=hint)
    return found


def _split(registry: Registry, target: str) -> list[str]:
    """Return the receivers of `ann,bob`; the name of an agent may have a comma too."""
    if "," not in target or registry.find_named(target) is not None:
        return [target]
    return [each.strip() for each in target.split(",") if each.strip()]


def _find(registry: Registry, target: str) -> Agent:
    try:
        return registry.find(target, whole=True)
    except NotFound as error:
        if target.casefold() == EVERYBODY:
            error.hint = f"did you mean {EVERYBODY}?"
        raise


def _listed(agents: Sequence[Agent]) -> str:
    return ", ".join(agent.name for agent in agents[:3]) + (", ..." if len(agents) > 3 else "")
