"""A message that was purged before its session had written all of it: the longer form is the same one, and stays out.

The id of a message is a hash of its content, so the longer form has another id; its first parts are the shorter one.
What is found is added to the list of what was purged: it is not fetched either, and offered to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.history.sources import NOTHING, Purged, purged_of, read_purged, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import MessageId
from scopes.store.objects import Objects
from scopes.store.refs import PURGED
from scopes.store.repository import Repository

if TYPE_CHECKING:
    from scopes.importers.identity import Content


def find_longer_form(purged: Purged, message: Content, parent: MessageId | None, identity: MessageId) -> Purged:
    """Return the entry for a message of which a shorter form was purged, with the same parts; else nothing."""
    if not purged.messages or len(message.parts) < 2 or purged.has_message(identity):
        return NOTHING
    from scopes.importers.identity import shorter_ids

    shorter = next(filter(purged.has_message, shorter_ids(message, parent)), None)
    return NOTHING if shorter is None else purged_of({identity: purged.parts_of(shorter)}, ())


def add_to_list(repository: Repository, objects: Objects, grown: Purged, tx: RefTransaction) -> None:
    """Add what was found to the list of the store."""
    known = read_purged(repository)
    if grown.without(known):
        listed = write_purged(objects, known.join(grown), repository.caller.sign)
        tx.move_ref(PURGED, repository.find_ref(PURGED), listed)
