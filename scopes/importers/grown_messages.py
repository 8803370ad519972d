"""A message that was purged before its session had written all of it: the longer form is the same one, and stays out.

The id of a message is a hash of its content, so the longer form has another id; its first parts are the shorter one.
What is found is added to the list of what was purged: it is not fetched either, and offered to others.
"""

from __future__ import annotations

from scopes.history.purged import NOTHING, Purged, purged_of, read_purged, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import MessageId
from scopes.importers.formats.events import Draft
from scopes.importers.identity import content_bytes, message_id
from scopes.store.refs import PURGED
from scopes.store.repository import Objects, Repository


def find_grown(purged: Purged, draft: Draft, parent: MessageId | None, identity: MessageId) -> Purged:
    """Return the entry for a draft of which a shorter form was purged, with the same parts; nothing for any other."""
    if not purged.messages or len(draft.parts) < 2 or purged.has_message(identity):
        return NOTHING
    for count in range(len(draft.parts) - 1, 0, -1):
        shorter = message_id(parent, content_bytes(draft._replace(parts=draft.parts[:count])))
        if purged.has_message(shorter):
            return purged_of({identity: purged.parts_of(shorter)}, ())
    return NOTHING


def add_to_list(repository: Repository, objects: Objects, grown: Purged, tx: RefTransaction) -> None:
    """Add what was found to the list of the store."""
    known = read_purged(repository)
    if grown.without(known):
        listed = write_purged(objects, known.join(grown), repository.caller.sign)
        tx.move_ref(PURGED, repository.find_ref(PURGED), listed)
