"""Which copy of a message a log shows, where one branch has it whole, and a branch that was merged has it purged.

All other views walk from the oldest message and show the first copy, which is that of the branch that was merged into.
A log walks from the newest one: it meets the purged copy first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scopes.history.messages import MessageHeader, headers_of, walk_headers_oldest_first
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

    Nothing is walked in a store that knows of no purge elsewhere: what was purged here has no whole copy.
    """

    def __init__(self, repository: Repository, tips: Sequence[Oid]) -> None:
        self._repository = repository
        self._tips = tips
        self._copies: Mapping[str, _Copy] | None = None

    def headers_of(self, commits: Iterable[Commit]) -> Iterator[MessageHeader]:
        """Yield the headers of the messages in commits; that of a purged one with what the first copy has."""
        return map(self._add_to, headers_of(commits))

    def _add_to(self, head: MessageHeader) -> MessageHeader:
        """Return a header with kind, subject and body of the first copy; it stays that of its own commit."""
        if head.subject != PURGED_TEXT:
            return head
        if self._copies is None:
            self._copies = self._read() if self._has_offers() else {}
        copy = self._copies.get(head.id)
        return head if copy is None else head._replace(kind=copy.kind, subject=copy.subject, tree=copy.tree)

    def _has_offers(self) -> bool:
        repository = self._repository
        return bool(repository.list_ref_names(PURGE_OFFERS)) or repository.find_ref(PURGED_ELSEWHERE) is not None

    def _read(self) -> dict[str, _Copy]:
        heads = walk_headers_oldest_first(self._repository, self._tips)
        return {head.id: _Copy(head.kind, head.subject, head.tree) for head in heads}
