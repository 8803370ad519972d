"""All messages of a store: those on branches, and those reachable only from the trash, undo or a remote's manifest.

Commands that show a store read its branches only. A purge must look at everything that is reachable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scopes.history.handles import list_tips_by_time
from scopes.history.messages import MessageHeader, header_of, is_root, read_stored_body, walk_headers_oldest_first
from scopes.history.names import conversation_ids, find_root_commit, resolve_conversation
from scopes.ids import ConversationId, Oid
from scopes.purge.all_commits import walk_all_commits
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository


class StoredMessage(NamedTuple):
    """A copy of a message in one commit; a purged or rebased copy is another one."""

    head: MessageHeader
    data: bytes


def walk_stored_headers(
    repository: Repository, conversation: ConversationId | None = None, *, branches: bool = True
) -> Iterator[tuple[Oid | None, MessageHeader]]:
    """Yield root and header of the messages that `walk_stored_messages` yields, without reading the messages."""
    wanted = None if conversation is None else find_root_commit(repository, conversation)
    tips = [Oid(value) for value in repository.list_refs().values() if not value.startswith(refs.SYMBOLIC)]
    roots: dict[Oid, Oid] = {}
    shown = set() if branches else _list_shown(repository)
    for commit, _ in walk_all_commits(repository, tips):
        if commit.message_id is None and not is_root(commit):
            continue
        root = commit.oid if is_root(commit) else next((roots[each] for each in commit.parents if each in roots), None)
        if root is not None:
            roots[commit.oid] = root
        is_wanted = (conversation is None or root == wanted) and commit.oid not in shown
        if commit.message_id is not None and is_wanted:
            yield root, header_of(commit)


def walk_stored_messages(
    repository: Repository, conversation: str | None = None, *, branches: bool = True
) -> Iterator[StoredMessage]:
    """Yield the messages of one conversation, or of all, parents first; each copy of a message is yielded.

    branches: False leaves out the commits that branches have

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Corrupt: a message is damaged or missing.
    """
    name = None if conversation is None else resolve_conversation(repository, conversation)
    for _, head in walk_stored_headers(repository, name, branches=branches):
        yield StoredMessage(head, read_stored_body(repository, head))


def _list_shown(repository: Repository) -> set[Oid]:
    """Return the commits that branches have."""
    tips = [Oid(value) for value in repository.list_refs(refs.HEADS).values()]
    return {commit.oid for commit in walk_newest_first(repository, tips)}


def walk_named_messages(repository: Repository) -> Iterator[tuple[ConversationId, StoredMessage]]:
    """Yield all messages with the names of their conversations, those of branches first."""
    for name in conversation_ids(repository):
        for head in walk_headers_oldest_first(repository, list_tips_by_time(repository, name)):
            yield name, StoredMessage(head, read_stored_body(repository, head))
    for name, head in walk_undone_headers(repository):
        yield name, StoredMessage(head, read_stored_body(repository, head))


def walk_undone_headers(repository: Repository) -> Iterator[tuple[ConversationId, MessageHeader]]:
    """Yield the messages that no branch has, of conversations with branches: undo or the trash reaches them."""
    names = {find_root_commit(repository, name): name for name in conversation_ids(repository)}
    for root, head in walk_stored_headers(repository, branches=False):
        if root is not None and root in names:
            yield names[root], head
