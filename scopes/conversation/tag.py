"""`tag`: create, list and delete tags, which are fixed names of messages."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote

from scopes.errors import NotFound, Refused
from scopes.history.handles import ConversationHandle, StoreHandle
from scopes.history.messages import MessageHeader, header_of
from scopes.history.new_names import parse_new_tag_name
from scopes.history.transaction import Transaction
from scopes.ids import ConversationId, Oid, OperationId
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(Result):
    """A tag that was created, or deleted if `oid` is None."""

    conversation: ConversationId
    tag: str
    oid: Oid | None
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class TagList(Result):
    """The tags of a conversation and their messages, sorted by name."""

    conversation: ConversationId
    tags: tuple[tuple[str, MessageHeader], ...]


def list_tags(repository: Repository, conversation: str) -> TagList:
    """List the tags of a conversation."""
    handle = StoreHandle(repository).conversation(conversation)
    tags = sorted(handle.metadata.tags.items())
    return TagList(
        conversation=handle.id, tags=tuple((tag, header_of(read_commit(repository, oid))) for tag, oid in tags)
    )


def tag(repository: Repository, conversation: str, name: str, message: str | None = None) -> Tagged:
    """Tag a message (default: the tip of the active branch).

    Raises:
        Refused: a tag or a branch of that name exists; tags are not moved.
    """
    handle, tag_name = StoreHandle(repository).conversation(conversation), parse_new_tag_name(repository, name)
    with exclusive_write(repository):
        if tag_name in handle.tips:
            raise Refused(f"{tag_name!a} is a branch of {handle.id}", hint="choose another name for the tag")
        if tag_name in handle.metadata.tags:
            hint = f"remove it first: scopes tag {quote(handle.id)} {quote(tag_name)} --delete"
            raise Refused(f"tag {tag_name!a} already exists in {handle.id}", hint=hint)
        oid = handle.active_branch.tip if message is None else handle.revision(message).oid
        return _set_tag(handle, tag_name, oid)


def delete_tag(repository: Repository, conversation: str, name: str) -> Tagged:
    """Delete a tag, but not its message.

    Raises:
        NotFound: there is no such tag.
    """
    handle = StoreHandle(repository).conversation(conversation)
    with exclusive_write(repository):
        if name not in handle.metadata.tags:
            raise NotFound(f"there is no tag {name!a} in {handle.id}", hint=f"list them: scopes tag {quote(handle.id)}")
        return _set_tag(handle, name, None)


def _set_tag(conversation: ConversationHandle, name: str, oid: Oid | None) -> Tagged:
    change = f"{'tag' if oid else 'remove tag'} {name}"
    tx = Transaction(conversation.repository, conversation.id)
    tx.set_tag(name, oid)
    operation = tx.commit("tag", f"{change} in {conversation.id}", metadata_message=change)
    return Tagged(conversation=conversation.id, tag=name, oid=oid, operation=operation.id)
