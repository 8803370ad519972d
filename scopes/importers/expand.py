"""Replace databases and folders with many conversations by one source for each of them."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BufferedReader, RawIOBase
from tempfile import mkstemp
from typing import TYPE_CHECKING, BinaryIO

from scopes.errors import CannotImport
from scopes.importers.formats.base import DATABASE_HEADER, Source
from scopes.importers.formats.collection import (
    SEPARATOR,
    Conversation,
    DatabaseCollection,
    FolderCollection,
)
from scopes.importers.formats.compressed import SUFFIX
from scopes.importers.formats.registry import DATABASES, FOLDERS
from scopes.importers.results import Skipped, skip_unreadable
from scopes.regular_file import open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from scopes.importers.formats.database import Database

MIN_FREE_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 18
_VERSION = re.compile(r"_?v?\d+\Z")  # at the end of the name of a table
_MANY_BYTES = 256 << 20  # of lines, between two looks at the free space of the disk
_MAX_RATIO = 16  # of lines to the bytes that they come from
_UNSUSPICIOUS_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class FolderSource(Source):
    """A folder whose files are the records of many conversations; `size` is that of all files."""

    files: tuple[str, ...] = field(compare=False, kw_only=True)

    def signed_files(self) -> list[str]:
        """Return all files of the folder."""
        return list(self.files)


class _TemporaryFile:
    """A file that is deleted with the last source that reads it, by the process that made it: workers share it."""

    def __init__(self) -> None:
        descriptor, self.name = mkstemp(prefix="scopes-")
        os.close(descriptor)
        weakref.finalize(self, _delete, self.name, os.getpid())


def _delete(path: str, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):
            os.unlink(path)


@dataclass(frozen=True, slots=True)
class RowSource(Source):
    """The lines of one conversation, in a temporary file that it shares with others of the collection."""

    file: _TemporaryFile = field(compare=False, kw_only=True)
    offset: int = field(compare=False, kw_only=True)
    format: str = field(compare=False, kw_only=True)
    name: str = field(compare=False, kw_only=True)
    messages: frozenset[str] = field(compare=False, kw_only=True)
    is_folder: bool = field(compare=False, kw_only=True)

    @property
    def stored_at(self) -> str:
        """Path of the temporary file."""
        return self.file.name

    def open(self) -> BinaryIO:
        """Open the lines for reading."""
        return BufferedReader(_Lines(open_regular(self.file.name), self.offset, self.size), _BLOCK_BYTES)


class _Lines(RawIOBase):
    """A range of a file, which it owns and closes."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        self._file, self._left = file, size
        file.seek(offset)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        data = self._file.read(min(len(memoryview(buffer)), self._left))
        self._left -= len(data)
        memoryview(buffer)[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def expand_sources(sources: Sequence[Source], skipped: list[Skipped]) -> list[Source]:
    """Return the sources with each collection replaced by its conversations; those that cannot be read are skipped.

    A session that is in a database and, perhaps older, in a folder too is taken from the database.
    """
    found: list[Source] = []
    for source in sources:
        try:
            found += _expand(source, skipped)
        except (CannotImport, OSError) as error:
            entry = _skip(source, error)
            asked = source.named or len(sources) == 1
            skipped.append(entry if asked else replace(entry, error=None, noted=False))
    return _without_older(found, skipped)


def is_collection(path: str) -> FolderCollection | None:
    """Return the kind of collection that a folder is; None if it is another folder."""
    return next((each for each in FOLDERS if each.recognizes(path)), None)


def is_collection_with(path: str, names: Iterable[str]) -> bool:
    """Return True if a folder with these entries is a collection."""
    return any(each.subfolders <= set(names) and each.recognizes(path) for each in FOLDERS)


def explain_incomplete(path: str) -> str | None:
    """Return what a folder lacks that would be a collection; None if it is one, or another folder."""
    return next(filter(None, (each.explain_incomplete(path) for each in FOLDERS)), None)


def find_folder_of(path: str) -> str:
    """Return the collection that a file is a record of; the path itself if it is of none."""
    folder = path
    for _ in range(max(each.depth for each in FOLDERS)):
        folder = os.path.dirname(folder)
        if is_collection(folder) is not None:
            return folder
    return path


def make_folder_source(path: str, *, named: bool = False) -> FolderSource:
    """Return a collection that is a folder as a source."""
    files, size = [], 0
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            try:
                size += os.lstat(file).st_size
            except FileNotFoundError:
                continue
            files.append(file)
    return FolderSource(path, size, named=named, files=tuple(sorted(files)))


def _expand(source: Source, skipped: list[Skipped]) -> list[Source]:
    if isinstance(source, FolderSource):
        known = is_collection(source.path)
        return [source] if known is None else _write_all(source, known, known.walk_conversations(source.path))
    if isinstance(source, RowSource) or source.path.endswith(SUFFIX) or not _is_database(source):
        return [source]
    from scopes.importers.formats.database import open_database

    with open_database(source) as database:
        chosen: DatabaseCollection | None = next(
            (each for each in DATABASES if any(database.has(tables) for tables in each.tables)), None
        )
        if chosen is None:
            return [source]
        unread = _find_unread_tables(database, chosen)
        if unread:
            reason = f"tables that no format reads: {', '.join(unread)}"
            skipped.append(Skipped(path=source.path, reason=reason))
        return _write_all(source, chosen, chosen.walk_conversations(database))


def _find_unread_tables(database: Database, collection: DatabaseCollection) -> list[str]:
    """Return the tables with rows that are named like known ones but for a version: those of a newer program."""
    known = {table for tables in collection.tables for table in tables}
    return [
        table
        for table in database.tables
        if table not in known and _VERSION.sub("", table) in known and next(database.walk(table), None) is not None
    ]


def _is_database(source: Source) -> bool:
    try:
        with source.open() as stream:
            return stream.read(len(DATABASE_HEADER)) == DATABASE_HEADER
    except OSError:  # whoever reads the source next reports it
        return False


def _write_all(
    source: Source, collection: DatabaseCollection | FolderCollection, conversations: Iterable[Conversation]
) -> list[Source]:
    """Write the lines of all conversations to one temporary file."""
    file = _TemporaryFile()
    with open(file.name, "wb") as stream:
        return list(_write_each(source, collection, conversations, file, stream))


def _write_each(
    source: Source,
    collection: DatabaseCollection | FolderCollection,
    conversations: Iterable[Conversation],
    file: _TemporaryFile,
    stream: BinaryIO,
) -> Iterator[RowSource]:
    offset, limit = 0, max(_UNSUSPICIOUS_BYTES, source.size * _MAX_RATIO)
    for conversation in conversations:
        size = 0
        for line in _checked(conversation.lines, file.name):
            stream.write(line)
            size += len(line)
            if offset + size > limit:
                raise CannotImport(f"{source.path}: its rows have over {limit >> 20} MiB, far more than the file")
        yield RowSource(
            f"{source.path}{SEPARATOR}{conversation.name}", size, named=source.named, file=file, offset=offset,
            format=collection.format, name=conversation.name, messages=frozenset(conversation.messages),
            is_folder=isinstance(source, FolderSource),
        )  # fmt: skip
        offset += size


def _checked(lines: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield lines as long as the disk has room for them."""
    written = _MANY_BYTES
    for line in lines:
        written += len(line)
        if written >= _MANY_BYTES:
            disk = os.statvfs(path)
            if disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES + _MANY_BYTES:
                raise CannotImport("too little space for a copy of its rows", hint="free some space, or set TMPDIR")
            written = 0
        yield line


def _without_older(sources: list[Source], skipped: list[Skipped]) -> list[Source]:
    """Leave out sessions of folders all of whose messages a database has too."""
    newer: dict[tuple[str, str], RowSource] = {}
    for source in sources:
        if isinstance(source, RowSource) and not source.is_folder:
            newer[source.format, source.name] = source
    kept = []
    for source in sources:
        if isinstance(source, RowSource) and source.is_folder:
            other = newer.get((source.format, source.name))
            if other is not None and source.messages <= other.messages:
                skipped.append(Skipped(path=source.path, reason=f"an older copy of {other.path}"))
                continue
        kept.append(source)
    return kept


def _skip(source: Source, error: CannotImport | OSError) -> Skipped:
    if isinstance(error, OSError):
        return skip_unreadable(source.path, error, named=source.named)
    reason = error.message.removeprefix(f"{source.path}: ")
    return Skipped(path=source.path, reason=reason, error=error, named=source.named, noted=True)
