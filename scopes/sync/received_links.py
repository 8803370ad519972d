"""Find what was made from what was purged here in what a remote sent: it has its content again, under other ids.

A message names what it was made from, which may be an amendment or a summary, too. That one is looked for in the same
conversation first, in what came and in what is here, then in the whole store, then in everything that came: messages
are picked into other conversations, and come in any order. What nobody has here cannot be followed. What was made after
the purge has only what was left of the message in its own history, and is taken, as in `purge/derived`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from scopes.history.messages import MessageHeader, header_of, read_stored_body
from scopes.history.purged import Purged, is_whole
from scopes.history.revisions import list_branch_tips
from scopes.ids import ConversationId, Oid
from scopes.model.codec import decode
from scopes.purge.links import Link, has_marks, is_tombstone, read_links
from scopes.purge.stored_messages import walk_stored_headers
from scopes.store.graph import walk_newest_first
from scopes.store.received_objects import ReceivedObjects
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import RemoteName


class ReceivedLink(NamedTuple):
    """A message that came, as a commit has it, and one from which it was made.

    has_content: False for one that was purged itself
    """

    message: str
    commit: Oid
    link: Link
    has_content: bool


class ReceivedMessages(NamedTuple):
    """The new messages of a conversation, and what they were made from."""

    messages: frozenset[str]
    links: Mapping[str, tuple[ReceivedLink, ...]]


def group_links(messages: Iterable[str], links: Iterable[ReceivedLink]) -> ReceivedMessages:
    """Return the new messages of a conversation with their links by message, as each of its copies says it."""
    found: defaultdict[str, list[ReceivedLink]] = defaultdict(list)
    for each in links:
        found[each.message].append(each)
    return ReceivedMessages(frozenset(messages), {name: tuple(own) for name, own in found.items()})


class LinkSearch:
    """Follows what messages that came were made from to what was purged here."""

    def __init__(
        self,
        repository: Repository,
        received: ReceivedObjects,
        purged: Purged,
        conversations: Mapping[RemoteName, ReceivedMessages],
    ) -> None:
        """`conversations` are those with links."""
        self._repository = repository
        self._received = received
        self._is_purged: Callable[[str], bool] = is_whole(purged)
        self._conversations = conversations
        self._heads: dict[Oid, dict[str, MessageHeader]] = {}  # by root, of conversations that are here
        self._links: dict[Oid, tuple[ReceivedLink, ...]] = {}  # by commit, of messages that are here
        self._histories: defaultdict[str, dict[Oid, bool | None]] = defaultdict(dict)  # by origin and commit

    def find(self, name: RemoteName) -> ReceivedLink | None:
        """Return the first message of a conversation that was made from what was purged; None if there is none."""
        harmless: set[str] = set()  # what nothing leads from to a purged one, though everything is followed
        for own in self._conversations[name].links.values():
            for each in own:
                seen: set[str] = set()
                if not each.has_content:
                    continue
                if not self._leads(name, each, seen, lambda link: link.link.origin not in harmless):
                    harmless.update(seen)
                elif self._leads(name, each, set(), self._has_it):  # reads histories
                    return each
        return None

    def _leads(
        self, name: RemoteName, first: ReceivedLink, seen: set[str], follows: Callable[[ReceivedLink], bool]
    ) -> bool:
        """Return True if a link leads to what was purged; otherwise `seen` has everything on the way."""
        waiting = [first] if follows(first) else []
        while waiting:
            message = waiting.pop().link.origin
            if self._is_purged(message):
                return True
            if message not in seen:
                seen.add(message)
                waiting += filter(follows, self._find_links(name, message))
        return False

    def _find_links(self, name: RemoteName, message: str) -> Iterable[ReceivedLink]:
        """Return what a message was made from; nothing if it is one of its own, or nobody has it."""
        own = self._conversations[name]
        if message in own.messages:
            return own.links.get(message, ())
        head = self._list_here(name.root).get(message) or next(iter(self._everywhere.get(message, ())), None)
        if head is not None:
            return self._read_links(head)
        return (each for other in self._conversations.values() for each in other.links.get(message, ()))

    def _read_links(self, head: MessageHeader) -> tuple[ReceivedLink, ...]:
        """Return what a message that is here was made from."""
        if head.oid not in self._links:
            data = read_stored_body(self._repository, head)
            links = read_links(self._repository, head.oid, decode(data)) if has_marks(data) else ()
            self._links[head.oid] = tuple(ReceivedLink(head.id, head.oid, link, has_content=True) for link in links)
        return self._links[head.oid]

    def _has_it(self, each: ReceivedLink) -> bool:
        """Return True if a message has the content of what it was made from: a tombstone had none to give.

        If its history has nothing of it, another copy of the message may say that it was made without it.
        """
        if each.link.repeats:
            return True
        found = self._find_in_history(each)
        if found is None:
            return not any(self._find_in_history(other) is False for other in self._walk_copies(each))
        return found

    def _walk_copies(self, each: ReceivedLink) -> Iterator[ReceivedLink]:
        """Yield the links of all copies of a message to the same one."""
        for other in self._conversations.values():
            yield from (copy for copy in other.links.get(each.message, ()) if copy.link == each.link)
        for head in self._everywhere.get(each.message, ()):
            yield from (copy for copy in self._read_links(head) if copy.link == each.link)

    def _find_in_history(self, each: ReceivedLink) -> bool | None:
        """Return whether the history of a copy has its origin with content; None if it does not have the origin."""
        origin, known = each.link.origin, self._histories[each.link.origin]
        if each.commit in known:
            return known[each.commit]
        answers: set[bool | None] = set()
        for commit in walk_newest_first(self._received, [each.commit], known):
            answers.update(known[parent] for parent in commit.parents if parent in known)
            if commit.message_id == origin:
                answers.add(not is_tombstone(read_stored_body(self._received, header_of(commit))))
            if True in answers or (False in answers and self._is_purged(origin)):  # which comes with no content
                break
        known[each.commit] = True if True in answers else False if False in answers else None
        return known[each.commit]

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
    def _everywhere(self) -> Mapping[str, list[MessageHeader]]:
        """All messages of the store, undone ones too, with all copies."""
        found: defaultdict[str, list[MessageHeader]] = defaultdict(list)
        for _, head in walk_stored_headers(self._repository):
            found[head.id].append(head)
        return found
