"""`tag`: give a message a name that does not move, list such names, take one away."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import NotFound, Refused
from scopes.history.messages import MessageHead, head_of
from scopes.history.metadata import read_metadata
from scopes.history.revparse import find_conversation, list_branch_tips, resolve_revision
from scopes.history.transaction import Transaction
from scopes.ids import ConversationId, Oid, OperationId, parse_branch_name
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(Result):
    """A tag that was set, or removed when `oid` is None."""

    conversation: ConversationId
    tag: str
    oid: Oid | None
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class TagList(Result):
    """The tags of a conversation by name, each with its message."""

    conversation: ConversationId
    tags: tuple[tuple[str, MessageHead], ...]


def list_tags(repository: Repository, conversation: str) -> TagList:
    """List a conversation's tags."""
    chosen = find_conversation(repository, conversation)
    tags = sorted(read_metadata(repository, chosen).tags.items())
    return TagList(conversation=chosen, tags=tuple((tag, head_of(read_commit(repository, oid))) for tag, oid in tags))


def tag(repository: Repository, conversation: str, name: str, message: str | None = None) -> Tagged:
    """Name a message (the active branch's tip when none is given).

    Raises:
        Refused: there is a tag or a branch of that name; a tag is not moved.
    """
    chosen, wanted = find_conversation(repository, conversation), str(parse_branch_name(name))
    with exclusive_write(repository):
        metadata = read_metadata(repository, chosen)
        if wanted in list_branch_tips(repository, chosen):
            raise Refused(f"{wanted!a} is a branch of {chosen}", hint="choose another name for the tag")
        if wanted in metadata.tags:
            hint = f"remove it first: scopes conv tag {chosen} {wanted} --delete"
            raise Refused(f"there is a tag {wanted!a} in {chosen} already", hint=hint)
        oid = resolve_revision(repository, chosen if message is None else message, chosen).oid
        return _set_tag(repository, chosen, wanted, oid)


def delete_tag(repository: Repository, conversation: str, name: str) -> Tagged:
    """Take a tag away; its message stays.

    Raises:
        NotFound: there is no such tag.
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        metadata = read_metadata(repository, chosen)
        if name not in metadata.tags:
            raise NotFound(f"there is no tag {name!a} in {chosen}", hint=f"list them: scopes conv tag {chosen}")
        return _set_tag(repository, chosen, name, None)


def _set_tag(repository: Repository, conversation: ConversationId, name: str, oid: Oid | None) -> Tagged:
    what = f"{'tag' if oid else 'remove tag'} {name}"
    tx = Transaction(repository, conversation)
    tx.set_tag(name, oid)
    operation = tx.commit("tag", f"{what} in {conversation}", metadata_message=what)
    return Tagged(conversation=conversation, tag=name, oid=oid, operation=operation.id)
