"""`amend` and `retract`: say that a message should read differently, or not count, by a new message (S4-27)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.conversation.append import append_to, plain_message
from scopes.errors import NotFound, Refused
from scopes.history.messages import is_root, read_message
from scopes.history.revparse import resolve_branch, resolve_revision
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.result import Result
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAmended(Result):
    """The new message that amends or retracts `target`; the old one stays as it was said."""

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
    author: str,
    author_kind: str = "agent",
    branch: str | None = None,
) -> MessageAmended:
    """Append a message that replaces the text of an earlier one.

    Raises:
        NotFound: there is no such message on the branch.
        Refused: it was retracted.
    """
    chosen, name, old = _find_target(repository, conversation, target, branch)
    message = replace(plain_message(author, text, author_kind=author_kind, kind=old.kind), amends=old.id)
    if old.payload is not None:
        message = replace(message, kind="plain")  # a typed document is amended by stating it again
    done = append_to(repository, chosen, name, message)
    return MessageAmended(id=done.id, oid=done.oid, conversation=chosen, branch=name, target=old.id, retracted=False)


def retract(
    repository: Repository,
    conversation: str,
    target: str,
    reason: str,
    *,
    author: str,
    author_kind: str = "agent",
    branch: str | None = None,
) -> MessageAmended:
    """Append a notice that an earlier message does not count any more.

    Raises:
        NotFound: there is no such message on the branch.
        Refused: it was retracted before.
    """
    chosen, name, old = _find_target(repository, conversation, target, branch)
    text = reason or f"retracted: {old.text[:60]}"
    message = replace(plain_message(author, text, author_kind=author_kind, kind="notice"), retracts=old.id)
    done = append_to(repository, chosen, name, message)
    return MessageAmended(id=done.id, oid=done.oid, conversation=chosen, branch=name, target=old.id, retracted=True)


def _find_target(
    repository: Repository, conversation: str, target: str, branch: str | None
) -> tuple[ConversationId, BranchName, Message]:
    chosen, name = resolve_branch(repository, conversation, branch)
    place = resolve_revision(repository, target, chosen)
    tip = resolve_revision(repository, name, chosen)
    commit = read_commit(repository, place.oid)
    if is_root(commit):
        raise NotFound("that is no message", hint=f"see: scopes conv log {chosen}/{name}")
    if not is_ancestor(repository, place.oid, tip.oid):
        raise NotFound(f"that message is not on {chosen}/{name}", hint="name the branch with --branch")
    message = read_message(repository, place.oid)
    state = find_blob(repository, read_commit(repository, tip.oid).tree, "state/" + leaf("messages", message.id))
    if state is not None and b'"retracted"' in state:
        raise Refused(f"message {message.id[:8]} was retracted already", hint=f"see: scopes conv log {chosen}/{name}")
    return chosen, name, message
