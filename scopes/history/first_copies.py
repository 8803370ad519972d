"""Which copy of a message a log shows, where one branch has it whole, and a branch that was merged has less of it.

All other views walk from the oldest message and show the first copy, which is that of the branch that was merged into.
A log walks from the newest one: it meets the purged copy first. A message that was purged as a whole says so in its
subject; of which messages parts were purged, the lists of other machines say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from scopes.history.messages import MessageHeader, headers_of, walk_headers_oldest_first
from scopes.history.purged import hash_of, read_purged
from scopes.ids import Oid
from scopes.model.tombstone import PURGED_TEXT
from scopes.store.objects import Commit
from scopes.store.refs import PURGE_OFFERS, PURGED_ELSEWHERE
from scopes.store.repository import Repository


class _Copy(NamedTuple):
    """What a purge changes of a header."""

    kind: str
    subject: str
    tree: Oid | None


class FirstCopies:
    """Gives a purged message of a log what the first copy has; the walk is done only if there is one.

    Nothing is walked in a store that knows of no purge elsewhere: what was purged here has no whole copy. No list is
    read for the messages of one branch without a merge: it has one copy of each.
    """

    def __init__(self, repository: Repository, tips: Sequence[Oid]) -> None:
        self._repository = repository
        self._tips = tips
        self._may_have_copies = len(tips) > 1

    def headers_of(self, commits: Iterable[Commit]) -> Iterator[MessageHeader]:
        """Yield the headers of the messages in commits; that of a purged one with what the first copy has."""
        for head in headers_of(commits):
            self._may_have_copies = self._may_have_copies or len(head.parents) > 1
            yield self._add_to(head) if self._may_have_copies else head

    def _add_to(self, head: MessageHeader) -> MessageHeader:
        """Return a header with kind, subject and body of the first copy; it stays that of its own commit."""
        if head.subject != PURGED_TEXT and not (self._in_part and hash_of(head.id) in self._in_part):
            return head
        copy = self._copies.get(head.id)
        return head if copy is None else head._replace(kind=copy.kind, subject=copy.subject, tree=copy.tree)

    @cached_property
    def _lists(self) -> list[str]:
        """The refs with lists of what was purged elsewhere."""
        return sorted(self._repository.list_ref_names(PURGE_OFFERS, PURGED_ELSEWHERE))

    @cached_property
    def _in_part(self) -> frozenset[str]:
        """The hashes of messages of which parts were purged elsewhere."""
        lists = [read_purged(self._repository, ref) for ref in self._lists]
        return frozenset(name for each in lists for name, parts in each.messages.items() if parts is not None)

    @cached_property
    def _copies(self) -> Mapping[str, _Copy]:
        """The first copies of all messages."""
        heads = walk_headers_oldest_first(self._repository, self._tips) if self._lists else ()
        return {head.id: _Copy(head.kind, head.subject, head.tree) for head in heads}
