"""Count a conversation again whose sources are as an import has left them, without reading the sources."""

from __future__ import annotations

from dataclasses import replace

from scopes.history.messages import is_root, message_id_of
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.history.sources import TRACKING
from scopes.ids import Oid
from scopes.importers.conversation_roots import find_root_of
from scopes.importers.results import ConversationImported
from scopes.model.conversation import decode_root
from scopes.store.graph import walk_newest_first
from scopes.store.objects import find_blob, read_commit
from scopes.store.repository import Repository


def count_again(repository: Repository, row: ConversationImported) -> ConversationImported | None:
    """Return the row of an import of unchanged sources for a conversation that was changed by something else.

    None if the conversation is another one now, or not all of its sources were unchanged. The first prompt is missing.
    """
    root = find_root_of(repository, row.id) if row.keys else None
    if root is None or _uuid_of(repository, root) != row.uuid:
        return None
    tips = list(list_branch_tips(repository, row.id).values())
    for key in row.keys:
        tips += map(Oid, repository.list_refs(f"{TRACKING}{key}/").values())
    messages = {message_id_of(commit) for commit in walk_newest_first(repository, tips) if not is_root(commit)}
    return replace(row, title=read_metadata(repository, row.id).title, messages=len(messages), first_prompt=None)


def _uuid_of(repository: Repository, root: Oid) -> str:
    return decode_root(find_blob(repository, read_commit(repository, root).tree, "message.json") or b"").uuid
