"""Prove that purged content is gone: search every object, and every file of the store and its derived data."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from scopes.errors import Corrupt
from scopes.history.sources import Parts
from scopes.ids import ConversationId, MessageId, Oid
from scopes.importers.purged_texts import ByteSearch, Quotes, forms_of, is_path, without_session
from scopes.model.message import purge_message
from scopes.purge.names_that_stay import is_file_of_names
from scopes.purge.records_that_stay import KeptRecord, find_kept_records
from scopes.purge.rewrite_records import is_copied_in
from scopes.purge.stored_messages import StoredMessage, walk_named_messages
from scopes.regular_file import read_regular
from scopes.store.git_program import run_git
from scopes.store.objects import TREE
from scopes.store.repository import Repository

_MAX_BYTES = 1 << 31
_OBJECT_FILES = (".pack", ".idx", ".rev")
_GROUP = 3  # base64 encodes three bytes at once
_MANY_MESSAGES, _MANY_CONVERSATIONS = 10, 3  # other ones that have a line: it is what agents or tools write everywhere


class CopiedIn(NamedTuple):
    """A message that was not purged, and has a line of what was purged."""

    conversation: ConversationId
    message: MessageId


class Proof(NamedTuple):
    """Counts of what was searched, and what is left.

    objects, files: how many were searched
    left: objects and files that still have purged content, as texts
    copies: messages that have the same text, those with most of it first
    alike: messages that only share lines with it that many messages have
    records: records of other transcripts that have the same text and are no messages
    """

    objects: int
    files: int
    left: tuple[str, ...]
    copies: tuple[CopiedIn, ...]
    alike: tuple[CopiedIn, ...]
    records: tuple[KeptRecord, ...] = ()


class _Sharing(NamedTuple):
    """A message with the numbers of the purged lines that it has."""

    copy: CopiedIn
    lines: frozenset[int]


def prove(
    repository: Repository,
    removed: Collection[str],
    quotes: Quotes,
    directories: Sequence[str],
    gone: Container[str] = (),
) -> Proof:
    """Search every object and every file for purged content; call it under the exclusive lock.

    removed: the ids of objects that must no longer exist
    quotes: the purged texts to search for
    directories: directories of data that is derived from the store
    gone: the messages that were purged now

    Raises:
        Inaccessible, Corrupt: the store cannot be read.
    """
    lock = repository.lock.descriptor
    listed = run_git(repository.path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", lock=lock)
    reached = run_git(repository.path, "rev-list", "--objects", "--all", "--reflog", "--no-object-names", lock=lock)
    present = [Oid(line) for line in listed.split()]
    unreached = sorted({*present} - {*reached.split()})
    left = [f"object {oid}" for oid in sorted(set(present) & set(removed))]
    left += [f"object {oid}, which nothing reaches" for oid in unreached]
    lines = _Lines(quotes.lines())
    files = list(_walk_files([repository.path, *directories]))  # before the messages are read, which fills caches
    searched = [
        path for path in files if not path.endswith(_OBJECT_FILES) and not is_file_of_names(repository.path, path)
    ]
    left += [path for path in searched if lines and lines.are_in(_inflated(path))]
    hits = [oid for oid in present if lines and lines.are_in(repository.read(oid)[1])]
    sharing = list(dict.fromkeys(_find_messages(repository, lines, {}))) if hits else []
    shared = frozenset[int]().union(*(each.lines for each in sharing))  # these are there as parts of the messages
    unshared = (oid for oid in hits if lines.find(without_session(repository.read(oid)[1])) - shared)
    copies = [oid for oid in unshared if _is_copy(*repository.read(oid), quotes)]
    kept, records = find_kept_records(repository, copies, lambda data: lines.find(data) - shared, gone)
    left += [f"object {oid}" for oid in copies if oid not in kept]
    copied, alike = _divide(sharing, len(lines))
    copied = tuple(dict.fromkeys((*copied, *_find_owners(repository, records))))
    others = tuple(each for each in records if each.message is None)
    return Proof(len(present), len(files), tuple(left), copied, alike, others)


def _find_owners(repository: Repository, records: Sequence[KeptRecord]) -> Iterator[CopiedIn]:
    """Yield the messages of records, with their conversations."""
    wanted = {each.message for each in records} - {None}
    for conversation, each in walk_named_messages(repository) if wanted else ():
        if each.head.id in wanted:
            yield CopiedIn(conversation, each.head.id)


class _Lines:
    """Lines in all the forms in which they may be stored, see `_all_forms`."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._count = len(lines)
        self._numbers: dict[bytes, list[int]] = {}
        for number, line in enumerate(lines):
            for form in dict.fromkeys(_all_forms(line)):
                self._numbers.setdefault(form, []).append(number)
        self._search = ByteSearch(self._numbers)

    def __len__(self) -> int:
        return self._count

    def are_in(self, data: bytes) -> bool:
        """Return True if the bytes contain one of them."""
        return next(self._search.walk(data), None) is not None

    def find(self, data: bytes) -> frozenset[int]:
        """Return the numbers of the lines that the bytes contain."""
        return frozenset(number for form in self._search.walk(data) for number in self._numbers[form])


def _all_forms(line: str) -> Iterator[bytes]:
    """Yield a line as it is, in lower case as an index has it, escaped for JSON, and in base64 at three offsets."""
    for text in dict.fromkeys((line, line.casefold())):
        yield from forms_of(text)
    data = line.encode("utf-8", "surrogatepass")
    for offset in range(_GROUP):
        tail = data[offset:]
        yield base64.b64encode(tail[: len(tail) // _GROUP * _GROUP])


def _is_copy(kind: str, data: bytes, quotes: Quotes) -> bool:
    """Return False for an object that only has a name or a path of what was purged, as a tree has: it is kept."""
    if kind == TREE or is_path(data.decode("utf-8", "replace").strip()):
        return False
    return is_copied_in(quotes, data)


def find_names(repository: Repository) -> frozenset[Oid]:
    """Return the objects of a store that only have names: its trees."""
    how = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    listed = run_git(repository.path, *how, lock=repository.lock.descriptor)
    present = dict(line.split(" ") for line in listed.splitlines())
    return frozenset(Oid(oid) for oid, kind in present.items() if kind == TREE)


def _find_messages(repository: Repository, lines: _Lines, purged: Mapping[str, Parts]) -> Iterator[_Sharing]:
    """Yield the messages that have such lines; of purged ones only the rest is searched."""
    for conversation, each in walk_named_messages(repository) if lines else ():
        data = without_purged(each, purged)
        shared = lines.find(without_session(data)) if data else frozenset[int]()
        if shared:
            yield _Sharing(CopiedIn(conversation, each.head.id), shared)


def without_purged(stored: StoredMessage, purged: Mapping[str, Parts]) -> bytes:
    """Return the bytes of a message without its purged parts; empty if all of it is purged."""
    if stored.head.id not in purged:
        return stored.data
    parts = purged[stored.head.id]
    with suppress(Corrupt):
        return b"" if parts is None else purge_message(stored.data, parts)
    return stored.data


def find_copies(
    repository: Repository, quotes: Quotes, purged: Mapping[str, Parts], conversations: Collection[str]
) -> tuple[tuple[CopiedIn, ...], tuple[CopiedIn, ...]]:
    """Return (copies, alike) as `prove` would find them, before anything is removed; see `Proof`."""
    lines = _Lines(quotes.lines())
    found = dict.fromkeys(_find_messages(repository, lines, purged))
    return _divide([each for each in found if each.copy.conversation not in conversations], len(lines))


def _divide(sharing: Sequence[_Sharing], lines: int) -> tuple[tuple[CopiedIn, ...], tuple[CopiedIn, ...]]:
    """Divide messages into those that have the purged text, and those that only have lines common to many messages.

    A message with most of the lines belongs to the former, however many messages have these lines.
    """
    holders: dict[int, set[CopiedIn]] = {}
    for each in sharing:
        for number in each.lines:
            holders.setdefault(number, set()).add(each.copy)
    common = {number for number, found in holders.items() if _are_many(found)}
    most_first = sorted(sharing, key=lambda each: -len(each.lines))
    copies = dict.fromkeys(each.copy for each in most_first if each.lines - common or 2 * len(each.lines) > lines)
    alike = dict.fromkeys(each.copy for each in most_first if each.copy not in copies)
    return tuple(copies), tuple(alike)


def _are_many(found: Collection[CopiedIn]) -> bool:
    return len(found) >= _MANY_MESSAGES and len({each.conversation for each in found}) >= _MANY_CONVERSATIONS


def _walk_files(directories: Iterable[str]) -> Iterator[str]:
    for directory in directories:
        for here, _, files in os.walk(directory):
            yield from (os.path.join(here, name) for name in files)


def _inflated(path: str) -> bytes:
    """Return the bytes of a file; if they are a compressed object, followed by its inflated bytes."""
    with suppress(OSError):
        data = read_regular(path, _MAX_BYTES)
        with suppress(zlib.error):
            return data + zlib.decompressobj().decompress(data)
        return data
    return b""
