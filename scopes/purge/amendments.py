"""Which messages say again what another one says: its amendments, theirs, and notices that quote what they retract.

A message that was purged goes in all its versions, and none of them comes back. What they amend is in the messages
themselves, so it is read from them, wherever they are: an amendment may have been picked without what it amends.
"""

from __future__ import annotations

from collections.abc import Callable

from scopes.history.purged import Purged, hash_of
from scopes.model.message import Message
from scopes.model.tombstone import quoted_by_retraction


def origin_of(message: Message) -> str | None:
    """Return the message whose content a message has again; None if it is one of its own."""
    return message.amends or quoted_by_retraction(message)


def is_whole(purged: Purged) -> Callable[[str], bool]:
    """Return what tells whether a message was purged as a whole; an amendment of one that was in part may stay."""
    whole = {name for name, parts in purged.messages.items() if parts is None}
    return lambda message: hash_of(message) in whole
