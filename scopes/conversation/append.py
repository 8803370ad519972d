"""`append`: add a message to the tip of a branch; concurrent appends need no exclusive lock and lose no message."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.clock import new_id, now
from scopes.history.messages import write_message_blob, write_message_commit
from scopes.history.revisions import find_branch, find_conversation
from scopes.ids import BranchName, ConversationId, MessageId, Oid, parse_agent_name
from scopes.model.message import Author, Message, text_parts
from scopes.result import Result
from scopes.store.refs import branch_ref
from scopes.store.repository import Repository
from scopes.store.transactions import append as append_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAppended(Result):
    """A message that was written to disk; `one_of_many` if the command appends several."""

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    one_of_many: bool = False


def append(
    repository: Repository, conversation: str, message: Message, *, branch: str | None = None
) -> MessageAppended:
    """Append a message to a branch; the active branch if none is given.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved.
        Invalid: the message is too large.
        Busy, Inaccessible: nothing was written, unless the error text says otherwise.
    """
    conversation_id = find_conversation(repository, conversation)
    branch_name = find_branch(repository, conversation_id, branch)
    return append_to(repository, conversation_id, branch_name, message)


def append_to(
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    message: Message,
    *,
    first: MessageId | None = None,
) -> MessageAppended:
    """Append a message to a branch that was already resolved; raises as `append` does.

    `first` is the first message of the same command: `undo` takes back all messages of a command together.
    """
    repository.require_writable()
    blob = write_message_blob(repository, message)
    oid = append_commit(
        repository,
        branch_ref(conversation, branch),
        lambda tip: write_message_commit(repository, tip, message, blob),
        f"append: {message.id}",
        first=first,
    )
    return MessageAppended(id=message.id, oid=oid, conversation=conversation, branch=branch)


def plain_message(author: str, text: str, *, author_kind: str = "agent", kind: str = "plain") -> Message:
    """Return a new message with one text part, the current time and a new id.

    Raises:
        Invalid: the author's name is blank or too long.
    """
    return Message(
        id=new_id(), author=Author(parse_agent_name(author), author_kind), parts=text_parts(text), kind=kind, time=now()
    )
