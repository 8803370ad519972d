"""`amend` and `retract`: replace the text of a message, or withdraw it, by appending a new message (S4-27)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.errors import NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import is_root, plain_message, read_message
from scopes.history.transaction import append_message
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.model.conflicts import MESSAGES
from scopes.model.message import Author, Message
from scopes.model.path_encoding import leaf
from scopes.result import Result
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAmended(Result):
    """The new message that amends or retracts `target`; the target itself is not changed."""

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    target: MessageId
    retracted: bool


def amend(
    repository: Repository,
    conversation: str,
    target: str,
    text: str,
    *,
    author: Author,
    branch: str | None = None,
) -> MessageAmended:
    """Append a message that replaces the text of an earlier one.

    Raises:
        NotFound: the message is not on the branch.
        Refused: the message was retracted.
    """
    handle, old = _find_target(repository, conversation, target, branch)
    message = replace(plain_message(author, text, kind=old.kind), amends=old.id)
    if old.payload is not None:
        message = replace(message, kind="plain")  # an amended typed document becomes plain text
    return _append(handle, message, old.id)


def retract(
    repository: Repository,
    conversation: str,
    target: str,
    reason: str,
    *,
    author: Author,
    branch: str | None = None,
) -> MessageAmended:
    """Append a notice that retracts an earlier message: contexts and summaries leave it out.

    Raises:
        NotFound: the message is not on the branch.
        Refused: the message was retracted already.
    """
    handle, old = _find_target(repository, conversation, target, branch)
    text = reason or f"retracted: {old.text[:60]}"
    message = replace(plain_message(author, text, kind="notice"), retracts=old.id)
    return _append(handle, message, old.id)


def _find_target(
    repository: Repository, conversation: str, target: str, branch: str | None
) -> tuple[BranchHandle, Message]:
    handle = StoreHandle(repository).branch(conversation, branch)
    log_hint = f"see: scopes conv log {handle}"
    oid = handle.conversation.revision(target).oid
    tip = handle.tip
    if is_root(read_commit(repository, oid)):
        raise NotFound("the root of a conversation is not a message", hint=log_hint)
    if not is_ancestor(repository, oid, tip):
        raise NotFound(f"that message is not on {handle}", hint="name the branch with --branch")
    message = read_message(repository, oid)
    claim = find_blob(repository, read_commit(repository, tip).tree, "state/" + leaf(MESSAGES, message.id))
    if claim is not None and b'"retracted"' in claim:
        raise Refused(f"message {message.id[:8]} was retracted already", hint=log_hint)
    return handle, message


def _append(branch: BranchHandle, message: Message, target: MessageId) -> MessageAmended:
    return MessageAmended(
        id=message.id,
        oid=append_message(branch.repository, branch.conversation.id, branch.name, message),
        conversation=branch.conversation.id,
        branch=branch.name,
        target=target,
        retracted=message.retracts is not None,
    )
