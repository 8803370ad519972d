"""Every message that a store holds: of branches, and those that only the trash, undo or a remote's manifest reaches.

A view of a store shows what branches have. What goes for good must be looked for in everything that stays reachable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scopes.history.conversations import list_tips_by_time
from scopes.history.messages import MessageHeader, header_of, is_root, read_stored_body, walk_headers_oldest_first
from scopes.history.revisions import conversation_ids, find_root_commit, resolve_conversation
from scopes.ids import ConversationId, Oid
from scopes.purge.all_commits import walk_all_commits
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository


class StoredMessage(NamedTuple):
    """A message as one commit has it: amended and purged copies of it are others.

    root: of its conversation; None below a commit of another program
    """

    root: Oid | None
    head: MessageHeader
    data: bytes


def walk_stored_messages(
    repository: Repository, conversation: str | None = None, *, branches: bool = True
) -> Iterator[StoredMessage]:
    """Yield the messages of one conversation, or of all, parents first; a message that was rewritten comes again.

    branches: False leaves out the commits that branches have

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Corrupt: a message is damaged or missing.
    """
    name = None if conversation is None else resolve_conversation(repository, conversation)
    wanted = None if name is None else find_root_commit(repository, name)
    tips = [Oid(value) for value in repository.list_refs().values() if not value.startswith(refs.SYMBOLIC)]
    roots: dict[Oid, Oid] = {}
    shown = set() if branches else _list_shown(repository)
    for commit, _ in walk_all_commits(repository, tips):
        if commit.message_id is None and not is_root(commit):
            continue
        root = commit.oid if is_root(commit) else next((roots[each] for each in commit.parents if each in roots), None)
        if root is not None:
            roots[commit.oid] = root
        is_wanted = (name is None or root == wanted) and commit.oid not in shown
        if commit.message_id is not None and is_wanted:
            head = header_of(commit)
            yield StoredMessage(root, head, read_stored_body(repository, head))


def _list_shown(repository: Repository) -> set[Oid]:
    """Return the commits that branches have."""
    tips = [Oid(value) for value in repository.list_refs(refs.HEADS).values()]
    return {commit.oid for commit in walk_newest_first(repository, tips)}


def walk_named_messages(repository: Repository) -> Iterator[tuple[ConversationId, StoredMessage]]:
    """Yield all messages with the names of their conversations, those of branches first."""
    names: dict[Oid, ConversationId] = {}
    for name in conversation_ids(repository):
        root = find_root_commit(repository, name)
        if root is not None:
            names.setdefault(root, name)
        for head in walk_headers_oldest_first(repository, list_tips_by_time(repository, name)):
            yield name, StoredMessage(root, head, read_stored_body(repository, head))
    for each in walk_stored_messages(repository, branches=False):
        if each.root in names:
            yield names[each.root], each
