"""Derived messages: messages of a store that were made from purged ones are purged with them.

A message names its sources, in each of its copies, see `links`. Copies may differ, since anybody can write a copy with
any links: a message is derived only if all of its copies with content name the source. If only parts of the source are
purged, a derived message is purged only if it has a line of these parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple

from scopes.history.messages import header_of, read_stored_body
from scopes.history.sources import NOTHING, Parts, Purged, is_whole, purged_of
from scopes.ids import MessageId, Oid
from scopes.importers.purged_texts import Quotes, walk_texts
from scopes.model.message import PURGED, TYPED_KINDS, Message, decode
from scopes.purge.all_commits import is_history, walk_all_commits
from scopes.purge.links import has_marks, is_tombstone, list_values, walk_origins, walk_unrecorded_values
from scopes.store import refs
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

_Value = tuple[str, bytes]
_NO_PARTS: Final[Mapping[str, Parts]] = MappingProxyType({})


class _Copy(NamedTuple):
    """A copy of a message in one commit, with its links to sources.

    origins: the messages that it names as sources
    values: the values of other messages that it repeats, by key
    stated: the values that it states itself, by key
    """

    oid: Oid
    message: MessageId
    has_content: bool
    origins: frozenset[str] = frozenset()
    values: frozenset[_Value] = frozenset()
    stated: frozenset[_Value] = frozenset()


class Derived:
    """The derived messages of a store, with those that only undo reaches; the store is read at the first call."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def list_versions(
        self, is_wanted: Callable[[str], bool], parts: Mapping[str, Parts] = _NO_PARTS
    ) -> list[MessageId]:
        """Return the messages made from the wanted ones, and transitively from those.

        parts: the numbers of purged parts, by message: derived messages that have a line of these parts are returned,
            too
        """
        made = self._stored.made
        found = dict.fromkeys(self._walk_quoting(parts))
        waiting = [*(name for name in made if is_wanted(name)), *found]
        while waiting:
            origin = waiting.pop()
            for message in made.get(origin, ()):
                if message not in found and self._stored.is_made(message, origin):
                    found[message] = None
                    waiting.append(message)
        return [*found]

    def _walk_quoting(self, parts: Mapping[str, Parts]) -> Iterator[MessageId]:
        """Yield messages made from others that have a line of the given parts which the remaining parts do not have."""
        for origin in parts.keys() & self._stored.made.keys():
            quotes = self._stored.read_quotes(origin, parts[origin] or frozenset())
            for message in self._stored.made[origin] if quotes else ():
                if self._stored.is_made(message, origin) and self._stored.has_line(message, quotes):
                    yield message

    def list_left(self, is_wanted: Callable[[str], bool]) -> list[MessageId]:
        """Return messages that are kept although one copy names a purged source: see the rules above."""
        made = self._stored.made
        names = dict.fromkeys(message for origin in made if is_wanted(origin) for message in made[origin])
        return [name for name in names if not is_wanted(name) and self._stored.has_content(name)]

    def find_origins(self, wanted: Collection[str], is_left: Callable[[str], bool]) -> frozenset[str]:
        """Return the wanted messages that a copy of a kept message names as its source."""
        made = self._stored.made
        return frozenset(each for each in wanted if any(map(is_left, made.get(each, ()))))

    def add_to(self, purged: Purged, also: Purged = NOTHING) -> Purged:
        """Return a list extended by the messages made from its messages, and from those of the list `also`."""
        every = purged.join(also)
        if not every.messages:
            return purged
        listed = {name: every.parts_of(name) for name in self._stored.made if every.has_message(name)}
        in_part = {name: parts for name, parts in listed.items() if parts is not None}
        return purged.join(purged_of(dict.fromkeys(self.list_versions(is_whole(every), in_part)), ()))

    @cached_property
    def _stored(self) -> _StoredCopies:
        return _StoredCopies(self._repository)


class _StoredCopies:
    """All copies of all messages of a store, with their links to sources.

    Attributes:
        made: The messages that name a source in one of their copies, by the source.
    """

    def __init__(self, repository: Repository) -> None:
        self._graph: list[tuple[Oid, tuple[Oid, ...], str | None]] = []  # parents first, with messages with content
        self._copies: defaultdict[str, list[_Copy]] = defaultdict(list)
        self._stating: defaultdict[_Value, dict[str, None]] = defaultdict(dict)
        self._repository = repository
        self._read_all()
        made: defaultdict[str, dict[MessageId, None]] = defaultdict(dict)
        for copies in self._copies.values():
            for copy in copies:
                for origin in self._walk_origins(copy):
                    made[origin][copy.message] = None
        self.made: Mapping[str, Iterable[MessageId]] = made

    def _read_all(self) -> None:
        repository = self._repository
        tips = [Oid(value) for value in repository.list_refs().values() if not value.startswith(refs.SYMBOLIC)]
        for commit, _ in walk_all_commits(repository, tips):
            if commit.message_id is None:
                if is_history(commit):
                    self._graph.append((commit.oid, commit.parents, None))
                continue
            head = header_of(commit)
            data = read_stored_body(repository, head)
            has_content = not is_tombstone(data)
            self._graph.append((head.oid, head.parents, head.id if has_content else None))
            copy = _Copy(head.oid, head.id, has_content)
            if head.kind in TYPED_KINDS or has_marks(data):
                message = decode(data)
                stated = frozenset(list_values(message) if head.kind in TYPED_KINDS else ())
                for value in stated:
                    self._stating[value][head.id] = None
                origins = frozenset(walk_origins(repository, head.oid, message))
                values = frozenset(walk_unrecorded_values(repository, head.oid, message))
                copy = copy._replace(origins=origins, values=values, stated=stated)
            self._copies[head.id].append(copy)

    def is_made(self, message: str, origin: str) -> bool:
        """Return True if all copies of a message with content were made from `origin`."""
        return all(self._is_copy_made(each, origin) for each in self._list_with_content(message))

    def has_content(self, message: str) -> bool:
        """Return True if a copy of a message has content."""
        return any(each.has_content for each in self._copies[message])

    def read_quotes(self, message: str, numbers: frozenset[int]) -> Quotes:
        """Return the lines that only these parts of a message have."""
        found, kept = Quotes(), Quotes()
        for copy in self._copies[message]:
            for number, part in enumerate(self._read(copy).parts):
                if part.fields.get(PURGED) is not True:
                    (found if number in numbers else kept).add_parts([part], None)
        found.drop(kept.texts)
        return found

    def has_line(self, message: str, quotes: Quotes) -> bool:
        """Return True if a copy of a message has one of some lines."""
        texts = (
            text
            for copy in self._copies[message]
            for each in [self._read(copy)]
            for text in walk_texts([[part.fields for part in each.parts], each.payload, each.task])
        )
        return any(quotes.are_in(text) for text in texts)

    def _read(self, copy: _Copy) -> Message:
        return decode(read_stored_body(self._repository, header_of(read_commit(self._repository, copy.oid))))

    def _is_copy_made(self, copy: _Copy, origin: str) -> bool:
        if origin in copy.origins:
            return True
        return self._has_in_history(copy, origin) and all(
            copy.values & each.stated for each in self._list_with_content(origin)
        )

    def _list_with_content(self, message: str) -> list[_Copy]:
        """Return the copies of a message that have content, or all if none has."""
        copies = self._copies[message]
        return [each for each in copies if each.has_content] or copies

    def _walk_origins(self, copy: _Copy) -> Iterator[str]:
        yield from copy.origins
        for stated in copy.values:
            yield from self._stating.get(stated, ())

    def _has_in_history(self, copy: _Copy, origin: str) -> bool:
        """Return True if the history of a copy has `origin` with its content; only for values that others repeat."""
        return bool(self._histories.get(copy.oid, 0) & self._bits.get(origin, 0))

    @cached_property
    def _bits(self) -> Mapping[str, int]:
        """A bit mask for each message whose values others may repeat."""
        repeated = (self._stating.get(each, ()) for every in self._copies.values() for c in every for each in c.values)
        names = dict.fromkeys(name for names in repeated for name in names)
        return {name: 1 << number for number, name in enumerate(names)}

    @cached_property
    def _histories(self) -> Mapping[Oid, int]:
        """For each commit the bit masks, combined, of all such messages in its history that have content."""
        bits, found = self._bits, dict[Oid, int]()
        for oid, parents, message in self._graph if bits else ():
            known = 0 if message is None else bits.get(message, 0)
            for parent in parents:
                known |= found.get(parent, 0)
            found[oid] = known
        return found
