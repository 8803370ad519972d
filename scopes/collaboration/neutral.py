"""`conflicts escalate`: choose who decides a conflict, and put it into their inbox."""

from __future__ import annotations

import shlex
from collections.abc import Container
from dataclasses import replace

from scopes.agents.agent import Agent
from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.registry import KIND, Registry, suggest_capability, write_registry
from scopes.agents.send import delivery_of
from scopes.conversation.conflicts import ConflictResolved, escalate_conflict, show_conflict
from scopes.errors import NoAvailableAgents, NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import MessageHeader, read_body, read_message
from scopes.history.names import find_nearest, list_branch_tips, resolve_conversation
from scopes.history.transaction import RefTransaction
from scopes.merge.conflicts import ConflictRow, read_conflict, read_discussion
from scopes.model.message import Author
from scopes.result import Note
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


def choose_neutral(repository: Repository, conversation: str, conflict: str, capability: str | None = None) -> Agent:
    """Return the agent that is to decide a conflict: available, not involved, able to, and best a person.

    Involved is who holds a side, who proposed or accepted it, and who has written in the debate. Of several agents it
    is the first one by number.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        NoAvailableAgents: nobody fits.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    involved = _sides_of(repository, row) | {
        head.author for head in read_discussion(repository, in_progress, row.conflict).talk
    }
    agents = Registry(repository).agents
    able = [
        agent
        for agent in agents
        if agent.available
        and agent.name not in involved
        and (capability is None or capability.removeprefix("@") in agent.capabilities)
    ]
    if not able:
        what = "" if capability is None else f" with the capability {capability.removeprefix('@')!a}"
        hint = f"involved: {', '.join(sorted(involved))}; name somebody: --to NAME"
        word = "" if capability is None else capability.removeprefix("@")
        if word and all(word not in agent.capabilities for agent in agents):
            hint = suggest_capability(agents, word)
        raise NoAvailableAgents(f"no agent{what} is available and not involved", hint=hint)
    return min(able, key=lambda agent: (agent.type != "human" and capability is None, agent.number))


def escalate(
    repository: Repository, conversation: str, conflict: str, *, to: str, reason: str, author: Author
) -> ConflictResolved:
    """Assign a conflict as `escalate_conflict` does; the message goes into the inbox of a registered agent.

    It is given to the program of the agent, if that has one. All of it is one step of undo. `to` is a name or a number,
    or a name that is not registered and like none that is. Notes say that nobody gets the message, or that `to` holds a
    side of the conflict.

    Raises:
        Ambiguous: several registered agents match.
        NotFound: nobody of that name is registered, but somebody with a similar one.
        As `escalate_conflict`.
    """
    agent = _find_addressee(Registry(repository), to)
    name = to if agent is None else agent.name
    row, _ = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    notes = _addressee_notes(name, agent, _sides_of(repository, row), row)
    if show_conflict(repository, row.conversation, row.conflict.id, patch=False).escalated_to == name:
        notes = (*notes, Note(f"it was escalated to {name} already: this is one more message about it"))
    done = escalate_conflict(repository, conversation, conflict, to=name, reason=reason, author=author)
    with exclusive_write(repository), repository.as_caller(command_operations=[done.operation]):
        registry = Registry(repository)
        if agent is not None:
            oid = list_branch_tips(repository, done.conversation)[done.branch]
            message = read_message(repository, oid)
            changes = delivery_of(message, oid, done.conversation, done.branch, registry, [agent])
            summary = f"send {message.id[:8]} of {done.conversation}/{done.branch} to {agent.name}"
            tx = RefTransaction(repository)
            tx.move_ref(AGENTS, registry.commit, write_registry(registry, changes, summary))
            sent = SentMessage(message.id, [done.operation, tx.commit(f"{KIND}-send", summary).id])
    if agent is not None and agent.available:
        notes = (*notes, *deliver_to_programs(repository, [agent.name], sent))
    return replace(done, notes=(*done.notes, *notes))


def _find_addressee(registry: Registry, name: str) -> Agent | None:
    """Return the registered agent that a name means; None if nobody has such a name.

    Raises:
        Ambiguous, NotFound: as `escalate`.
    """
    try:
        return registry.find(name, whole=True) if registry.agents else None
    except NotFound as error:
        names: list[str] = [agent.name for agent in registry.agents]
        near = [each for each in names if each.startswith(name)] or find_nearest(name, names)
        if near:
            command = shlex.join(["scopes", "agents", "register", name])
            error.hint = f"did you mean {' or '.join(near)}? Or register it: {command}"
            raise
        return None


def _addressee_notes(name: str, agent: Agent | None, sides: Container[str], row: ConflictRow) -> tuple[Note, ...]:
    notes = []
    if agent is None:
        command = shlex.join(["scopes", "agents", "register", name])
        notes.append(Note(f"{name} is not registered, so no inbox has the message", f"register it: {command}"))
    elif not agent.available:
        notes.append(Note(f"{name} is away: the message waits"))
    if name in sides:
        again = f"scopes conflicts escalate {shlex.quote(row.conversation)} {shlex.quote(row.conflict.id[:8])}"
        notes.append(Note(f"{name} holds a side of this conflict", f"somebody who does not: {again}"))
    return tuple(notes)


def _sides_of(repository: Repository, row: ConflictRow) -> set[str]:
    """Return who holds a value of a conflict, chose it, or proposed it."""
    positions = (*row.conflict.base, *row.conflict.source, *row.conflict.target)
    names = {each.agent for each in positions if each.agent is not None}
    return names | _authors_of(repository, row, {each.message for each in positions})


def _authors_of(repository: Repository, row: ConflictRow, messages: Container[str | None]) -> set[str]:
    """Return who proposed, accepted or approved the proposals that messages have applied."""
    heads = list(StoreHandle(repository).branch(row.conversation, row.branch).headers())
    reviews = {head.id: _reviewed(repository, head) for head in heads if head.kind == "notice"}
    proposals = {proposal for message, proposal in reviews.items() if proposal is not None and message in messages}
    return {head.author for head in heads if head.id in proposals or reviews.get(head.id) in proposals}


def _reviewed(repository: Repository, head: MessageHeader) -> str | None:
    """Return the proposal that a message reviews."""
    match read_body(repository, head).extra.get("review"):
        case {"proposal": str(proposal)}:
            return proposal
    return None
