"""`tag`: create, list and delete tags, which are fixed names of messages."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import NotFound, Refused
from scopes.history.messages import MessageHead, head_of
from scopes.history.metadata import read_metadata
from scopes.history.revisions import find_conversation, list_branch_tips, resolve_revision
from scopes.history.transaction import Transaction
from scopes.ids import ConversationId, Oid, OperationId, parse_branch_name
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
    tags: tuple[tuple[str, MessageHead], ...]


def list_tags(repository: Repository, conversation: str) -> TagList:
    """List the tags of a conversation."""
    conversation_id = find_conversation(repository, conversation)
    tags = sorted(read_metadata(repository, conversation_id).tags.items())
    return TagList(
        conversation=conversation_id, tags=tuple((tag, head_of(read_commit(repository, oid))) for tag, oid in tags)
    )


def tag(repository: Repository, conversation: str, name: str, message: str | None = None) -> Tagged:
    """Tag a message (default: the tip of the active branch).

    Raises:
        Refused: a tag or a branch of that name exists; tags are not moved.
    """
    conversation_id, tag_name = find_conversation(repository, conversation), str(parse_branch_name(name))
    with exclusive_write(repository):
        metadata = read_metadata(repository, conversation_id)
        if tag_name in list_branch_tips(repository, conversation_id):
            raise Refused(f"{tag_name!a} is a branch of {conversation_id}", hint="choose another name for the tag")
        if tag_name in metadata.tags:
            hint = f"remove it first: scopes conv tag {conversation_id} {tag_name} --delete"
            raise Refused(f"there is a tag {tag_name!a} in {conversation_id} already", hint=hint)
        oid = resolve_revision(repository, conversation_id if message is None else message, conversation_id).oid
        return _set_tag(repository, conversation_id, tag_name, oid)


def delete_tag(repository: Repository, conversation: str, name: str) -> Tagged:
    """Delete a tag, but not its message.

    Raises:
        NotFound: there is no such tag.
    """
    conversation_id = find_conversation(repository, conversation)
    with exclusive_write(repository):
        metadata = read_metadata(repository, conversation_id)
        if name not in metadata.tags:
            raise NotFound(
                f"there is no tag {name!a} in {conversation_id}", hint=f"list them: scopes conv tag {conversation_id}"
            )
        return _set_tag(repository, conversation_id, name, None)


def _set_tag(repository: Repository, conversation: ConversationId, name: str, oid: Oid | None) -> Tagged:
    change = f"{'tag' if oid else 'remove tag'} {name}"
    tx = Transaction(repository, conversation)
    tx.set_tag(name, oid)
    operation = tx.commit("tag", f"{change} in {conversation}", metadata_message=change)
    return Tagged(conversation=conversation, tag=name, oid=oid, operation=operation.id)
