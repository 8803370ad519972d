"""Find out whether a conversation was begun in this store, or came from a remote."""

from __future__ import annotations

from scopes.ids import ConversationId, Oid
from scopes.store.graph import walk_newest_first
from scopes.store.refs import meta_ref
from scopes.store.repository import Repository
from scopes.sync.join import RECEIVED


def is_from_here(repository: Repository, conversation: ConversationId) -> bool:
    """Return True if a conversation was written or imported in this store first.

    This is so if the first commit of its metadata was written by this store and did not come from a remote.
    """
    value = repository.find_ref(meta_ref(conversation))
    commits = () if value is None else walk_newest_first(repository, [Oid(value)])
    return any(not commit.parents and commit.subject != RECEIVED for commit in commits)
