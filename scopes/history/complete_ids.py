"""Find many messages by their complete ids: each conversation is walked once, not once for each id."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scopes.history.messages import header_of
from scopes.history.metadata import read_metadata
from scopes.history.revisions import conversation_ids, latest_first, list_branch_tips, resolve_revision_anywhere
from scopes.ids import ConversationId, Oid, is_message_id
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository


def resolve_messages(repository: Repository, texts: Collection[str], conversation: ConversationId) -> list[Oid]:
    """Return the commits of revisions, each as `resolve_revision_anywhere` finds it and with its errors."""
    names = {*list_branch_tips(repository, conversation), *read_metadata(repository, conversation).tags}
    names.update(conversation_ids(repository))
    ids = {text for text in texts if is_message_id(text) and not any(name.startswith(text) for name in names)}
    found = _find_ids(repository, ids, conversation) if ids else {}
    return [found.get(text) or resolve_revision_anywhere(repository, text, conversation).oid for text in texts]


def _find_ids(repository: Repository, ids: set[str], conversation: ConversationId) -> dict[str, Oid]:
    """Return the first commit of each message id in the first conversation that has it."""
    found: dict[str, Oid] = {}
    for each in _search_order(repository, conversation):
        own: dict[str, Oid] = {}
        for head in map(header_of, walk_oldest_first(repository, list_branch_tips(repository, each).values())):
            if head.id in ids:
                own.setdefault(head.id, head.oid)
        found = own | found
        if found.keys() == ids:
            break
    return found


def _search_order(repository: Repository, conversation: ConversationId) -> Iterator[ConversationId]:
    yield conversation
    yield from (each for each in latest_first(repository) if each != conversation)
