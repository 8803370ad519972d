"""Decide to which repository of a remote each conversation is pushed, and open another one if the last is full.

Conversations stay in the repository that they are in. New ones go to the last repository, up to the limits; then it is
closed, and the next one is opened. The limits keep pushes fast and within what hosts accept, so it does not matter that
machines which push at the same time may exceed them by a few.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from scopes.errors import Inaccessible, NotFound, Refused
from scopes.ids import ConversationId, Oid
from scopes.result import Note
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.closed import CLOSED
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.family import (
    EVERY_REF_OF_SCOPES,
    add_member,
    find_next_member,
    find_roots,
    is_closed,
    place_known,
)
from scopes.sync.learn_before import learn_before
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import ON_REMOTE
from scopes.sync.open_next import close, open_next
from scopes.sync.remotes import Remote

_MEGABYTE: Final = 1_000_000
_CONVERSATIONS, _MEGABYTES = 5_000, 5_000
_ANOTHER: Final = "or raise the limits: scopes config scopes.remoteConversations NUMBER"


class Placement:
    """Assigns conversations to repositories; those that fit nowhere are in `refused` at the end, with the `reason`."""

    def __init__(self, repository: Repository, members: list[Remote], connection: Connection) -> None:
        self.refused: Sequence[ConversationId] = ()
        self.reason = ""
        self.notes: list[Note] = []
        self.gone: dict[str, Collection[str]] = {}  # the roots of what they had until now
        self.asked: list[Remote] = []  # repositories that have said what they have
        self._repository = repository
        self._connection = connection
        self._members = members
        config = repository.config
        self._maximum = config.find_integer("scopes.remoteConversations", _CONVERSATIONS)
        self._maximum_bytes = config.find_integer("scopes.remoteMegabytes", _MEGABYTES) * _MEGABYTE

    def preview(self, chosen: Sequence[ConversationId]) -> Iterator[tuple[Remote, list[ConversationId]]]:
        """Yield each repository with the conversations for it, as far as that is known here; none is contacted.

        New conversations are assigned to the last repository, whether it is full or not.
        """
        places = place_known(self._repository, self._members, find_roots(self._repository, chosen))
        yield from _arrange(self._members, chosen, {each: places.get(each, self._members[-1]) for each in chosen})

    def walk(self, chosen: Sequence[ConversationId]) -> Iterator[tuple[Remote, list[ConversationId]]]:
        """Yield each repository with the conversations for it; push them before you take the next item.

        No repository is contacted if each conversation is known to be in one. The last repository is yielded again if
        it still has room because conversations for it were refused; when it is full it is closed.

        Raises:
            Inaccessible, Corrupt: a repository does not answer, or sent damaged data.
            Refused: the next repository cannot be added to the remotes.
        """
        roots = find_roots(self._repository, chosen)
        places = place_known(self._repository, self._members, {each: roots[each] for each in chosen if each in roots})
        new = [each for each in chosen if each not in places]
        if not new:
            yield from _arrange(self._members, chosen, places)
            return
        with quarantine_of(self._repository, knows_remotes=False) as self._quarantine:
            refs = self._find_places({each: roots[each] for each in new if each in roots}, places)
            yield from _arrange(self._members, chosen, places)
            yield from self._place_new([each for each in new if each not in places], refs)

    def _place_new(
        self, waiting: list[ConversationId], refs: Mapping[str, Oid]
    ) -> Iterator[tuple[Remote, list[ConversationId]]]:
        while waiting:
            last = self._members[-1]
            room = self._room(last, refs, len(waiting))
            if room:
                yield last, waiting[:room]
                waiting = waiting[room:]
                refs = self._list(last) if waiting else refs
                continue
            try:
                refs = self._open_next(last)
            except (Refused, Inaccessible) as error:
                self.reason = f"{last.name} is full, and the next repository is not open: {error.message}"
                self.notes.append(Note(f"{last.name} ({last.address.text}) is full", error.hint))
                self.refused = waiting
                return

    def _find_places(
        self, roots: Mapping[ConversationId, Oid], places: dict[ConversationId, Remote]
    ) -> Mapping[str, Oid]:
        """Find the repositories that have conversations already, add them to `places`, and learn of purges elsewhere.

        Return the refs of the last repository.
        """
        refs: dict[str, Oid] = {}
        for member in self._members:  # which grows
            refs = self._list(member)
            self.gone[member.name] = learn_before(self._repository, member, refs, self._connection)
            self.asked.append(member)
            there = {ref.rpartition("/")[2] for ref in refs if ref.startswith(ON_REMOTE)}
            for each, root in roots.items():
                if root in there:
                    places.setdefault(each, member)
            if member == self._members[-1] and is_closed(member, refs) and self._is_next_there():
                add_member(self._repository, self._members)
        return refs

    def _is_next_there(self) -> bool:
        """Return True if the repository after the last one exists already and has refs of scopes."""
        try:
            return bool(self._list(find_next_member(self._repository, self._members)))
        except (Inaccessible, NotFound, Refused):
            return False

    def _list(self, member: Remote) -> dict[str, Oid]:
        return self._connection.open(self._quarantine, member.address).list_refs(EVERY_REF_OF_SCOPES)

    def _room(self, last: Remote, refs: Mapping[str, Oid], wanted: int) -> int:
        """Return how many of `wanted` more conversations a repository may get within its limits."""
        count = _count(refs)
        if CLOSED in refs:
            return 0
        if self._maximum_bytes and self._measure(last.address, count) >= self._maximum_bytes:
            return 0
        return min(wanted, max(0, self._maximum - count)) if self._maximum else wanted

    def _measure(self, address: Address, count: int) -> int:
        """Return the size of a repository in bytes: measured for a directory, elsewhere estimated from this store.

        Git does not report the size of a remote. A repository with as many conversations as this store, or more, is
        estimated to be as large as this store; one with fewer has its share of it.
        """
        if address.transport == "directory":
            return _measure_directory(os.path.join(address.text, "objects"))
        here = max(1, len(list_roots(self._repository)))
        size = _measure_directory(os.path.join(self._repository.path, "objects"))
        return size * min(count, here) // here

    def _open_next(self, last: Remote) -> dict[str, Oid]:
        """Open the repository after the last one, close that one, and return the refs of the next one."""
        address = find_next_member(self._repository, self._members).address
        found = open_next(last.address, address, self._quarantine, self._connection)
        if _count(found) and not is_closed(last, self._list(last)):
            problem = f"{address.text} has conversations, and nothing says that it is the next repository"
            raise Refused(problem, hint=f"rename it; {_ANOTHER}")
        refusal = close(self._repository, last, self._quarantine, self._connection)
        if refusal is not None:
            raise Refused(f"it cannot be closed: {refusal}", hint="ask for the right to write")
        added = add_member(self._repository, self._members)
        text = f"{last.name} is full and closed; new conversations go to {added.name} ({added.address.text})"
        self.notes.append(Note(text, "what is there stays there; scopes fetch gets all of it"))
        return found


def _arrange(
    members: Iterable[Remote], chosen: Sequence[ConversationId], places: Mapping[ConversationId, Remote]
) -> Iterator[tuple[Remote, list[ConversationId]]]:
    for member in members:
        yield member, [each for each in chosen if places.get(each) == member]


def _count(refs: Iterable[str]) -> int:
    return sum(ref.startswith(ON_REMOTE) for ref in refs)


def _measure_directory(path: str) -> int:
    """Return the size in bytes of all files below a directory; files that disappear meanwhile are not counted."""
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                continue
    return total
