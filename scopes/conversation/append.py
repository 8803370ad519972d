"""`append`: add a message to the tip of a branch; concurrent appends need no exclusive lock and lose no message."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.clock import new_id, now
from scopes.history.handles import Branch, Store
from scopes.history.messages import write_message_blob, write_message_commit
from scopes.ids import BranchName, ConversationId, MessageId, Oid, parse_agent_name
from scopes.model.message import Author, Message, text_parts
from scopes.result import Result
from scopes.store.refs import branch_ref
from scopes.store.repository import Repository
from scopes.store.transactions import append as append_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAppended(Result):
    """A message that was written to disk."""

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName


def append(
    repository: Repository, conversation: str, message: Message, *, branch: str | None = None
) -> MessageAppended:
    """Append a message to a branch; the active branch if none is given.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved.
        Invalid: the message is too large.
        Busy, Inaccessible: nothing was written, unless the error text says otherwise.
    """
    return append_to(Store(repository).conversation(conversation).branch(branch), message)


def append_to(branch: Branch, message: Message) -> MessageAppended:
    """Append a message to a branch that was already resolved; raises as `append` does."""
    repository, conversation_id = branch.repository, branch.conversation.id
    repository.require_writable()
    blob = write_message_blob(repository, message)
    oid = append_commit(
        repository,
        branch_ref(conversation_id, branch.name),
        lambda tip: write_message_commit(repository, tip, message, blob),
        f"append: {message.id}",
    )
    return MessageAppended(id=message.id, oid=oid, conversation=conversation_id, branch=branch.name)


def plain_message(author: str, text: str, *, author_kind: str = "agent", kind: str = "plain") -> Message:
    """Return a new message with one text part, the current time and a new id.

    Raises:
        Invalid: the author's name is blank or too long.
    """
    return Message(
        id=new_id(), author=Author(parse_agent_name(author), author_kind), parts=text_parts(text), kind=kind, time=now()
    )
