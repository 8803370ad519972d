"""`conflicts argue` and `conflicts escalate`: state a position about a conflict, or hand it to who decides it."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

from scopes.agents.agent import Agent
from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.registry import KIND, Registry, suggest_capability, write_registry
from scopes.agents.send import delivery_of
from scopes.collaboration.collaboration import CollaborationChanged, argument_message, write_change
from scopes.conversation.conflicts import ConflictResolved, escalate_conflict
from scopes.errors import NoAvailableAgents, NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import read_message
from scopes.history.names import find_nearest, list_branch_tips, resolve_conversation
from scopes.history.transaction import RefTransaction
from scopes.merge.conflicts import read_conflict, read_discussion
from scopes.model.conflicts import ENDED
from scopes.model.message import Argument, Author
from scopes.result import Note
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


def argue_about_conflict(
    repository: Repository, conversation: str, conflict: str, argument: Argument, *, author: Author
) -> CollaborationChanged:
    """State a position about an open conflict, on its conflict-resolution branch: it is in debate then.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        Refused: it was resolved or aborted.
        Invalid: the position is empty, or the confidence is not between 0 and 1.
    """
    with exclusive_write(repository):
        row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
        about = row.conflict.id
        message = argument_message(replace(argument, about=about), author)
        if row.conflict.status in ENDED:
            hint = f"see: scopes conflicts show {quote(row.conversation)} {quote(about)}"
            raise Refused(f"conflict {about} has ended: {row.conflict.status}", hint=hint)
        handle = StoreHandle(repository).branch(row.conversation, in_progress.branch)
        summary = f"{author.name} argues about {about} in {handle}"
        return replace(write_change(handle, message, summary, "argued"), about=about)


def choose_neutral(repository: Repository, conversation: str, conflict: str, capability: str | None = None) -> Agent:
    """Return the agent that is to decide a conflict: available, not involved, able to, and best a person.

    Involved is who holds a side, and who has written in the debate. Of several agents it is the first one by number.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        NoAvailableAgents: nobody fits.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    sides = (*row.conflict.base, *row.conflict.source, *row.conflict.target)
    talk = read_discussion(repository, in_progress, row.conflict).talk
    involved = {*(each.agent for each in sides if each.agent is not None), *(head.author for head in talk)}
    word = None if capability is None else capability.removeprefix("@")
    agents = Registry(repository).agents
    able = [agent for agent in agents if word is None or word in agent.capabilities]
    free = [agent for agent in able if agent.available and agent.name not in involved]
    if not free:
        what = "" if word is None else f" with the capability {word!a}"
        hint = f"involved: {', '.join(sorted(involved))}; name somebody: --to NAME"
        if word is not None and not able:
            hint = suggest_capability(agents, word)
        raise NoAvailableAgents(f"no agent{what} is available and not involved", hint=hint)
    return min(free, key=lambda agent: (agent.type != "human" and capability is None, agent.number))


def escalate(
    repository: Repository, conversation: str, conflict: str, *, to: str, reason: str, author: Author
) -> ConflictResolved:
    """Assign a conflict as `escalate_conflict` does; the message goes into the inbox of a registered agent.

    It is given to the program of the agent, if that has one. All of it is one step of undo.

    to: the whole name or the number of a registered agent, or a name that is like none of theirs: nobody gets it then

    Raises:
        Ambiguous: several registered agents match.
        NotFound: nobody of that name is registered, but somebody with a similar one.
        As `escalate_conflict`.
    """
    register = f"scopes agents register {quote(to)}"
    agents = Registry(repository).agents
    try:
        agent = Registry(repository).find(to, whole=True) if agents else None
    except NotFound as error:
        names: list[str] = [each.name for each in agents]
        near = [name for name in names if name.startswith(to)] or find_nearest(to, names)
        if near:
            error.hint = f"did you mean {' or '.join(near)}? Or register it: {register}"
            raise
        agent = None
    name = to if agent is None else agent.name
    done = escalate_conflict(repository, conversation, conflict, to=name, reason=reason, author=author)
    if agent is None:
        note = Note(f"{name} is not registered, so no inbox has the message", f"register it: {register}")
        return replace(done, notes=(*done.notes, note))
    with exclusive_write(repository), repository.as_caller(command_operations=[done.operation]):
        registry = Registry(repository)
        oid = list_branch_tips(repository, done.conversation)[done.branch]
        message = read_message(repository, oid)
        changes = delivery_of(message, oid, done.conversation, done.branch, registry, [agent])
        summary = f"send {message.id[:8]} of {done.conversation}/{done.branch} to {name}"
        tx = RefTransaction(repository)
        tx.move_ref(AGENTS, registry.commit, write_registry(registry, changes, summary))
        sent = SentMessage(message.id, [done.operation, tx.commit(f"{KIND}-send", summary).id])
    if not agent.available:
        return replace(done, notes=(*done.notes, Note(f"{name} is away: the message waits")))
    return replace(done, notes=(*done.notes, *deliver_to_programs(repository, [agent.name], sent)))
