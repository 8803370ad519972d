"""Find fetched messages that were made from messages purged here: they have the purged content, under other ids.

A message names its sources, such as the message that it amends, and a source may itself be an amendment or a summary.
A source is looked up in the same conversation first, as fetched and as stored here, then in the whole store, then in
everything that was fetched: messages are cherry-picked into other conversations, and arrive in any order. A source that
is in none of these cannot be followed. Messages made after the purge do not name the purged one, and are accepted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from scopes.history.messages import MessageHeader, header_of, read_stored_body
from scopes.history.names import list_branch_tips
from scopes.history.sources import Purged, is_whole
from scopes.ids import ConversationId, Oid
from scopes.model.message import decode
from scopes.purge.stored_messages import walk_stored_headers
from scopes.store.git_program import ReceivedObjects
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import RemoteName


class ReceivedLink(NamedTuple):
    """A fetched message in one commit, and one of its sources.

    has_content: False if the message itself was purged
    """

    message: str
    origin: str
    has_content: bool


class ReceivedMessages(NamedTuple):
    """The new messages of a conversation, and their links to the messages that they were made from."""

    messages: frozenset[str]
    links: Mapping[str, tuple[ReceivedLink, ...]]


def group_links(messages: Iterable[str], links: Iterable[ReceivedLink]) -> ReceivedMessages:
    """Return the new messages of a conversation with their links by message, of all of its copies."""
    found: defaultdict[str, list[ReceivedLink]] = defaultdict(list)
    for each in links:
        found[each.message].append(each)
    return ReceivedMessages(frozenset(messages), {name: tuple(own) for name, own in found.items()})


class LinkSearch:
    """Follows the links of fetched messages to messages that were purged here."""

    def __init__(
        self,
        repository: Repository,
        received: ReceivedObjects,
        purged: Purged,
        conversations: Mapping[RemoteName, ReceivedMessages],
    ) -> None:
        """Prepare a search; `conversations` are the fetched ones with links."""
        self._repository = repository
        self._received = received
        self._purged = purged
        self._is_purged: Callable[[str], bool] = is_whole(purged)
        self._conversations = conversations
        self._heads: dict[Oid, dict[str, MessageHeader]] = {}  # by root, of conversations that are here
        self._links: dict[Oid, tuple[ReceivedLink, ...]] = {}  # by commit, of messages that are here

    def find(self, name: RemoteName) -> ReceivedLink | None:
        """Return the first message of a conversation that was made from a purged one; None if there is none."""
        seen: set[str] = set()
        for own in self._conversations[name].links.values():
            for each in own:
                if each.has_content and self._leads(name, each, seen):
                    return each
        return None

    def find_from_part(self, name: RemoteName) -> ReceivedLink | None:
        """Return the first message of a conversation that was made from one whose parts were purged here; else None.

        The content of these parts is no longer known here: the message may have some of it, or not.
        """
        links = (each for own in self._conversations[name].links.values() for each in own)
        return next((each for each in links if each.has_content and self._is_in_part(each.origin)), None)

    def _is_in_part(self, message: str) -> bool:
        return self._purged.has_message(message) and not self._is_purged(message)

    def _leads(self, name: RemoteName, first: ReceivedLink, seen: set[str]) -> bool:
        """Return True if a link leads to a purged message; messages in `seen` are not followed, new ones are added."""
        waiting = [first]
        while waiting:
            message = waiting.pop().origin
            if self._is_purged(message):
                return True
            if message not in seen:
                seen.add(message)
                waiting += self._find_links(name, message)
        return False

    def _find_links(self, name: RemoteName, message: str) -> Iterable[ReceivedLink]:
        """Return the links of a message; none if it has no source, or if neither the store nor the remote has it."""
        own = self._conversations[name]
        if message in own.messages:
            return own.links.get(message, ())
        head = self._list_here(name.root).get(message) or self._everywhere.get(message)
        if head is not None:
            return self._read_links(head)
        return (each for other in self._conversations.values() for each in other.links.get(message, ()))

    def _read_links(self, head: MessageHeader) -> tuple[ReceivedLink, ...]:
        """Return the links of a stored message."""
        if head.oid not in self._links:
            data = read_stored_body(self._repository, head)
            from scopes.purge.links import has_marks, walk_origins

            origins = walk_origins(self._repository, head.oid, decode(data)) if has_marks(data) else ()
            self._links[head.oid] = tuple(ReceivedLink(head.id, origin, has_content=True) for origin in origins)
        return self._links[head.oid]

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
        """The headers of all messages of the store by id, with those that only undo reaches."""
        found: dict[str, MessageHeader] = {}
        for _, head in walk_stored_headers(self._repository):
            found.setdefault(head.id, head)
        return found
