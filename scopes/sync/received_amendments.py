"""Find amendments of what was purged here in what a remote sent: they have its content again, under other ids.

An amendment names the message that it amends, which may be an amendment, too. That one is looked for in the same
conversation first, in what came and in what is here, then in the whole store, then in everything that came: amendments
are picked into other conversations, and come in any order. What nobody has here cannot be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from scopes.history.messages import MessageHeader, header_of, read_stored_body
from scopes.history.purged import Purged
from scopes.history.revisions import list_branch_tips
from scopes.ids import ConversationId, Oid
from scopes.model.codec import decode
from scopes.purge.amendments import is_whole, origin_of
from scopes.purge.links import has_marks
from scopes.purge.stored_messages import walk_stored_headers
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import RemoteName


class ReceivedAmendment(NamedTuple):
    """A message that came, and the one whose content it has again.

    has_content: False for one that was purged itself
    """

    message: str
    origin: str
    has_content: bool


class ReceivedMessages(NamedTuple):
    """The new messages of a conversation, and which of them are amendments."""

    messages: frozenset[str]
    amendments: tuple[ReceivedAmendment, ...]

    def walk_origins(self, message: str) -> Iterator[str]:
        """Yield what a message amends, as each of its copies says it."""
        return (each.origin for each in self.amendments if each.message == message)


class AmendmentSearch:
    """Follows amendments that came to what was purged here."""

    def __init__(self, repository: Repository, purged: Purged, received: Mapping[RemoteName, ReceivedMessages]) -> None:
        """`received` has the conversations with amendments."""
        self._repository = repository
        self._is_purged: Callable[[str], bool] = is_whole(purged)
        self._received = received
        self._heads: dict[Oid, dict[str, MessageHeader]] = {}  # by root, of conversations that are here

    def find(self, name: RemoteName) -> str | None:
        """Return the first message of a conversation that is an amendment of what was purged; None if there is none."""
        own = self._received[name].amendments
        return next((each.message for each in own if each.has_content and self._is_of_purged(name, each.origin)), None)

    def _is_of_purged(self, name: RemoteName, origin: str) -> bool:
        seen: set[str] = set()
        waiting = [origin]
        while waiting:
            message = waiting.pop()
            if self._is_purged(message):
                return True
            if message not in seen:
                seen.add(message)
                waiting += self._find_origins(name, message)
        return False

    def _find_origins(self, name: RemoteName, message: str) -> Iterable[str]:
        """Return what a message amends; nothing if it is one of its own, or nobody has it."""
        own = self._received[name]
        if message in own.messages:
            return own.walk_origins(message)
        head = self._list_here(name.root).get(message) or self._everywhere.get(message)
        if head is not None:
            data = read_stored_body(self._repository, head)
            origin = origin_of(decode(data)) if has_marks(data) else None
            return () if origin is None else (origin,)
        return (origin for other in self._received.values() for origin in other.walk_origins(message))

    def _list_here(self, root: Oid) -> Mapping[str, MessageHeader]:
        """Return the messages that branches of a conversation have here."""
        if root not in self._heads:
            name = self._roots.get(root)
            tips = () if name is None else list_branch_tips(self._repository, name).values()
            commits = walk_newest_first(self._repository, tips)
            self._heads[root] = {each.message_id: header_of(each) for each in commits if each.message_id is not None}
        return self._heads[root]

    @cached_property
    def _roots(self) -> Mapping[Oid, ConversationId]:
        return list_roots(self._repository)

    @cached_property
    def _everywhere(self) -> Mapping[str, MessageHeader]:
        """All messages of the store, undone ones too."""
        return {head.id: head for _, head in walk_stored_headers(self._repository)}
