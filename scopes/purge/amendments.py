"""Which messages say again what another one says: its amendments, theirs, and notices that quote what they retract.

A message that was purged goes in all its versions, and none of them comes back. What they amend is in the messages
themselves, so it is read from them, wherever they are: an amendment may have been picked without what it amends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from scopes.history.purged import NOTHING, Purged, hash_of, purged_of
from scopes.ids import MessageId
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.model.tombstone import quoted_by_retraction
from scopes.purge.stored_messages import walk_stored_messages
from scopes.store.repository import Repository

_FIELDS = (b'"amends"', b'"retracts"')


def origin_of(message: Message) -> str | None:
    """Return the message whose content a message has again; None if it is one of its own."""
    return message.amends or quoted_by_retraction(message)


def read_origin(data: bytes) -> str | None:
    """Return the same of a stored message."""
    return origin_of(decode(data)) if any(field in data for field in _FIELDS) else None


def find_versions(origins: Iterable[tuple[MessageId, str]], is_wanted: Callable[[str], bool]) -> list[MessageId]:
    """Return the messages that have the content of a wanted one, also over others; `origins` may have any order."""
    after: defaultdict[str, list[MessageId]] = defaultdict(list)
    for message, origin in origins:
        after[origin].append(message)
    found: dict[MessageId, None] = {}
    waiting = [message for origin, messages in after.items() if is_wanted(origin) for message in messages]
    while waiting:
        message = waiting.pop()
        if message not in found:
            found[message] = None
            waiting += after.get(message, ())
    return [*found]


def is_whole(purged: Purged) -> Callable[[str], bool]:
    """Return what tells whether a message was purged as a whole; an amendment of one that was in part may stay."""
    whole = {name for name, parts in purged.messages.items() if parts is None}
    return lambda message: hash_of(message) in whole


class Amendments:
    """The amendments in a store, undone ones too; they are read when the first list of whole messages is given."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    @cached_property
    def _origins(self) -> list[tuple[MessageId, str]]:
        found = ((each.head.id, read_origin(each.data)) for each in walk_stored_messages(self._repository))
        return [(message, origin) for message, origin in found if origin is not None]

    def list_versions(self, is_wanted: Callable[[str], bool]) -> list[MessageId]:
        """Return the messages that have the content of a wanted one."""
        return find_versions(self._origins, is_wanted)

    def add_to(self, purged: Purged, also: Purged = NOTHING) -> Purged:
        """Return a list with the amendments of its messages, and of those that another list has."""
        every = purged.join(also)
        if None not in every.messages.values():
            return purged
        return purged.join(purged_of(dict.fromkeys(self.list_versions(is_whole(every))), ()))
