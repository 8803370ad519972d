"""`conflicts escalate --neutral`: choose who decides a conflict, and put it into their inbox."""

from __future__ import annotations

from collections.abc import Container

from scopes.agents.agent import Agent
from scopes.agents.registry import Registry, write_registry
from scopes.agents.send import delivery_of
from scopes.conversation.resolve import ConflictResolved, escalate_conflict
from scopes.errors import NoAvailableAgents
from scopes.history.handles import StoreHandle
from scopes.history.messages import MessageHeader, read_body, read_message
from scopes.history.revisions import list_branch_tips, resolve_conversation
from scopes.history.transaction import RefTransaction, same_command
from scopes.merge.conflict_list import ConflictRow, list_discussion, read_conflict
from scopes.model.message import Author
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
    involved = _sides_of(repository, row) | {head.author for head in list_discussion(repository, in_progress)}
    able = [
        agent
        for agent in Registry(repository).agents
        if agent.available
        and agent.name not in involved
        and (capability is None or capability.removeprefix("@") in agent.capabilities)
    ]
    if not able:
        what = "" if capability is None else f" with the capability {capability.removeprefix('@')!a}"
        hint = f"involved: {', '.join(sorted(involved))}; name somebody: --to NAME"
        raise NoAvailableAgents(f"no agent{what} is available and not involved", hint=hint)
    return min(able, key=lambda agent: (agent.type != "human" and capability is None, agent.number))


def escalate(
    repository: Repository, conversation: str, conflict: str, *, to: str, reason: str, author: Author
) -> ConflictResolved:
    """Assign a conflict as `escalate_conflict` does; the message goes into the inbox of a registered agent.

    Both are one step of undo. Raises as `escalate_conflict`.
    """
    done = escalate_conflict(repository, conversation, conflict, to=to, reason=reason, author=author)
    with exclusive_write(repository), same_command(repository, done.operation):
        registry = Registry(repository)
        agent = registry.find_named(to)
        if agent is not None:
            oid = list_branch_tips(repository, done.conversation)[done.branch]
            message = read_message(repository, oid)
            changes = delivery_of(message, oid, done.conversation, done.branch, registry, [agent])
            summary = f"send {message.id[:8]} of {done.conversation}/{done.branch} to {agent.name}"
            tx = RefTransaction(repository)
            tx.move_ref(AGENTS, registry.commit, write_registry(registry, changes, summary))
            tx.commit("agents-send", summary)
    return done


def _sides_of(repository: Repository, row: ConflictRow) -> set[str]:
    """Return who holds a value of a conflict, chose it, or proposed it."""
    positions = (*row.conflict.base, *row.conflict.source, *row.conflict.target)
    names = {name for each in positions for name in (each.agent, each.resolved_by) if name is not None}
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
