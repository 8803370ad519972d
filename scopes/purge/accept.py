"""`purge --accept`: do what others have purged. A list that came from a remote removes nothing before that."""

from __future__ import annotations

from scopes.errors import NotFound
from scopes.history.conversations import list_tips_by_time
from scopes.history.messages import MessageHeader, read_stored_body, walk_headers_oldest_first
from scopes.history.purged import Purged, read_purged, write_purged
from scopes.history.revisions import conversation_ids, find_root_commit
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId
from scopes.model.tombstone import purge_message
from scopes.purge.purge import Places, Progress, PurgedMessage, PurgeDone, PurgePlanned, plan_removal, remove
from scopes.purge.unfinished import refuse_unfinished
from scopes.store.refs import PURGED_ELSEWHERE
from scopes.store.repository import Objects, Repository


def plan_accept(repository: Repository) -> PurgePlanned:
    """Return what was purged elsewhere and is here, and change nothing.

    Raises:
        NotFound: nothing is.
    """
    offered = read_offered(repository)
    messages, conversations = find_offered(repository, offered)
    if not messages and not conversations:
        raise NotFound("nothing that was purged elsewhere is here", hint="get the newest list: scopes fetch")
    return plan_removal(repository, offered, messages, conversations)


def accept_purges(repository: Repository, places: Places, *, on_progress: Progress = lambda _: None) -> PurgeDone:
    """Remove what was purged elsewhere; raises as `purge`, and NotFound if nothing is offered."""
    refuse_unfinished(repository)
    offered = read_offered(repository)
    if not offered:
        raise NotFound("nothing was purged elsewhere", hint="get the newest list: scopes fetch")
    return remove(repository, offered, places, on_progress=on_progress)


def read_offered(repository: Repository) -> Purged:
    """Return what remotes say was purged, and this store has not accepted."""
    return read_purged(repository, PURGED_ELSEWHERE).without(read_purged(repository))


def is_new_offer(repository: Repository, received: Purged) -> bool:
    """Return True if a remote says that something was purged which no remote has said before."""
    return bool(received.without(read_purged(repository, PURGED_ELSEWHERE)))


def offer(objects: Objects, transaction: RefTransaction, received: Purged) -> None:
    """Add what a remote says was purged to what is offered."""
    repository = transaction.repository
    known = read_purged(repository, PURGED_ELSEWHERE)
    joined = known.join(received)
    if joined != known:
        before = repository.find_ref(PURGED_ELSEWHERE)
        transaction.move_ref(PURGED_ELSEWHERE, before, write_purged(objects, joined))


def has_content(repository: Repository, head: MessageHeader, purged: Purged) -> bool:
    """Return True if a message is on a list and has its content still."""
    if not purged.has_message(head.id):
        return False
    data = read_stored_body(repository, head)
    return purge_message(data, purged.parts_of(head.id)) != data


def find_offered(
    repository: Repository, offered: Purged
) -> tuple[tuple[PurgedMessage, ...], tuple[ConversationId, ...]]:
    """Return the messages and conversations of this store that are on a list."""
    if not offered:
        return (), ()
    messages: dict[str, PurgedMessage] = {}
    conversations = []
    for name in conversation_ids(repository):
        root = find_root_commit(repository, name)
        if root is not None and offered.has_conversation(root):
            conversations.append(name)
            continue
        for head in walk_headers_oldest_first(repository, list_tips_by_time(repository, name)):
            if has_content(repository, head, offered):
                parts = offered.parts_of(head.id)
                row = PurgedMessage(name, head.id, head.subject, None if parts is None else len(parts))
                messages.setdefault(head.id, row)
    return tuple(messages.values()), tuple(conversations)
