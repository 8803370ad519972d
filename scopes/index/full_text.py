"""Open the search index and update it; a missing, damaged, old or foreign index is rebuilt, with a note.

If the file cannot be written, or another process writes it for too long, the index is built in memory: the answers are
the same, but the whole store is read.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.index.checksums import hold_lock, logged_blocks, record, verify
from scopes.index.database import (
    READ_ERRORS,
    UnusableIndex,
    connect,
    create_tables,
    has_regular_files,
    identity_of,
    is_empty,
    is_ours,
    prepare,
    read_property,
    remove,
    translate_damage,
    without_purged,
)
from scopes.index.schema import LAYOUT
from scopes.index.sync import StaleEntryUnreadable, digest_of, sync_index
from scopes.index.writer import Describe
from scopes.result import Note
from scopes.store.prunes import again_after_prunes
from scopes.store.refs import HEADS
from scopes.store.repository import Repository

State: TypeAlias = Literal["fresh", "updated", "built", "rebuilt", "in-memory"]

ColumnType: TypeAlias = type | UnionType

_BUSY_SECONDS = 20.0
_PAGE = 100
_UPDATE_CACHE_KIBIBYTES = 65536  # ids are random, so that a large index is read and written all over with less
_REBUILT = "it was rebuilt; nothing was lost"


class IndexStatus(NamedTuple):
    """What the index covers, and how it was updated; `read` is the number of commits that were read for it."""

    state: State
    read: int
    conversations: int
    branches: int
    messages: int
    damaged: int
    unreadable: int


class IndexDamaged(Exception):
    """The index has impossible content; earlier results from it are not reliable either."""


class _IndexDeleted(Exception):
    """Another process deleted the file while it was opened, to rebuild it or because of `gc --expire`."""


class Index:
    """An up-to-date index of all messages that branches reach."""

    def __init__(
        self, connection: sqlite3.Connection, status: IndexStatus, notes: tuple[Note, ...], path: str | None
    ) -> None:
        self.status = status
        self._path = path
        self.notes = notes
        self._connection = connection

    def rows(
        self, statement: str, parameters: Sequence[object] = (), types: Sequence[ColumnType] = ()
    ) -> list[tuple[Any, ...]]:
        """Run a query and return its rows; `types` are the types of its first columns.

        Raises:
            IndexDamaged: the query fails, or a value has another type.
        """
        return list(self.walk(statement, parameters, types))

    def check_whole(self) -> None:
        """Compare the whole file with its checksums; call it before a result without any match is believed.

        An index that was built or changed by this call, or in memory, is not compared.

        Raises:
            IndexDamaged: the file is damaged.
        """
        if self._path is None or self.status.state != "fresh":
            return
        try:
            with hold_lock(self._path, _BUSY_SECONDS, exclusive=False):
                damaged = verify(self._path, whole=True) is None
        except (sqlite3.Error, OSError):  # another process writes or has deleted it: nothing can be compared
            return
        if damaged:
            raise IndexDamaged("a checksum differs")

    def walk(
        self, statement: str, parameters: Sequence[object] = (), types: Sequence[ColumnType] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows lazily; raise as `rows` does."""
        try:
            cursor = self._connection.execute(statement, parameters)
            while rows := cursor.fetchmany(_PAGE):
                if not all(
                    isinstance(value, expected) for row in rows for value, expected in zip(row, types, strict=False)
                ):
                    raise IndexDamaged("a value has another type")
                yield from rows
        except READ_ERRORS as error:
            raise IndexDamaged(str(error)) from error


@contextmanager
def open_index(directory: str, repository: Repository, describe: Describe, *, rebuild: bool = False) -> Iterator[Index]:
    """Open the index in a directory and update it; with `rebuild`, delete a damaged one first.

    Raises:
        Busy: each time that it was opened, objects were deleted meanwhile.
    """
    work = partial(_open_unpurged, directory, repository, describe, rebuild=rebuild)
    connection, state, read, notes = again_after_prunes(repository.path, work)
    with contextlib.closing(connection):
        try:
            properties: dict[str, Any] = dict(connection.execute("SELECT key, value FROM property"))
            counts = {name: int(properties[name]) for name in IndexStatus._fields[2:]}
        except (*READ_ERRORS, KeyError, ValueError, TypeError) as error:
            raise IndexDamaged(str(error)) from error
        path = os.path.join(directory, LAYOUT.file)
        yield Index(connection, IndexStatus(state, read, **counts), notes, path)


def _open_unpurged(
    directory: str, repository: Repository, describe: Describe, *, rebuild: bool
) -> tuple[sqlite3.Connection, State, int, tuple[Note, ...]]:
    """Open the index as `_open` does, for the branches of now; return its notes, too.

    Raises:
        Busy: a purge has deleted objects meanwhile, and with them the file, or will do so.
    """
    repository.forget_pruned()
    notes: list[Note] = []
    with without_purged(directory, repository.path) as prunes:
        refs = repository.list_refs(HEADS)
        connection, state, read = _open(directory, repository, refs, describe, notes, rebuild=rebuild)
    if prunes.have_run():
        connection.close()
        prunes.require_none()
    return connection, state, read, tuple(notes)


def _open(
    directory: str,
    repository: Repository,
    refs: Mapping[str, str],
    describe: Describe,
    notes: list[Note],
    *,
    rebuild: bool,
) -> tuple[sqlite3.Connection, State, int]:
    """Open the existing index, or else a new one in its place, or else one in memory."""
    state: State = "updated"
    if rebuild:
        _delete(directory)
        notes.append(Note("the search index was damaged", _REBUILT))
        state = "rebuilt"
    for _ in range(2):
        try:
            connection, new, read = _open_file(directory, repository, refs, describe)
        except UnusableIndex as reason:
            if reason.text is not None:
                notes.append(Note(f"the search index {reason.text}", _REBUILT))
            _delete(directory)
            state = "rebuilt"
            continue
        except _IndexDeleted:
            continue
        except (sqlite3.Error, OSError) as error:
            notes.append(Note(f"the search index cannot be kept: {error}", f"it would be in {directory}"))
            break
        if state != "rebuilt":
            state = "built" if new else "updated" if read or new is None else "fresh"
        return connection, state, read
    with contextlib.ExitStack() as on_error:
        connection = on_error.enter_context(contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)))
        create_tables(connection, LAYOUT, repository.path)
        read = sync_index(connection, repository, refs, describe)
        on_error.pop_all()
    return connection, "in-memory", read


def _open_file(
    directory: str, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> tuple[sqlite3.Connection, bool | None, int]:
    """Open the file, verified and up to date; return the connection, and the results of `_update_file`."""
    prepare(directory)
    path = os.path.join(directory, LAYOUT.file)
    with hold_lock(path, _BUSY_SECONDS, exclusive=False):
        connection = _open_fresh(directory, path, repository, refs)
    if connection is not None:
        return connection, False, 0
    with hold_lock(path, _BUSY_SECONDS, exclusive=True):
        try:
            with translate_damage():
                result = _update_file(directory, path, repository, refs, describe)
        except StaleEntryUnreadable as error:
            raise UnusableIndex(None) from error
        return _reopen(directory), *result


def _reopen(directory: str) -> sqlite3.Connection:
    """Open the updated file; reading its schema opens its log too, so that a later deletion does no harm."""
    with contextlib.ExitStack() as stack, translate_damage():
        connection = stack.enter_context(contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)))
        if is_empty(connection):
            raise _IndexDeleted
        stack.pop_all()
        return connection


def _delete(directory: str) -> None:
    """Delete the file, if possible not while another process updates it."""
    try:
        with hold_lock(os.path.join(directory, LAYOUT.file), _BUSY_SECONDS, exclusive=True):
            remove(directory, LAYOUT)
    except (sqlite3.Error, OSError):
        remove(directory, LAYOUT)


def _open_fresh(
    directory: str, path: str, repository: Repository, refs: Mapping[str, str]
) -> sqlite3.Connection | None:
    """Open the file if it is verified and up to date; None if it is not."""
    if not has_regular_files(path) or logged_blocks(path) or verify(path) is None:
        return None
    with contextlib.ExitStack() as stack, translate_damage():
        connection = stack.enter_context(contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)))
        if is_empty(connection) or not is_ours(connection, LAYOUT, identity_of(repository.path)):
            return None
        connection.execute("PRAGMA synchronous = NORMAL")
        if read_property(connection, "refs") != digest_of(refs):
            return None
        stack.pop_all()
        return connection


def _update_file(
    directory: str, path: str, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> tuple[bool | None, int]:
    """Verify and update the file and its checksums; return the results of `_update`."""
    logged: list[int] = []
    sums = None
    if has_regular_files(path) and os.path.exists(path):
        logged, sums = logged_blocks(path), verify(path)
    with contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)) as connection:
        new = is_empty(connection)
        if not new and not is_ours(connection, LAYOUT, identity_of(repository.path)):
            raise UnusableIndex("belonged to another store or another version")
        if not new and sums is None:
            raise UnusableIndex(None if logged else "was damaged")  # with a log, its first writer was killed
        result = _update(connection, repository, refs, describe)
        logged += logged_blocks(path)
        busy, pages, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    record(path, None if new else sums, logged, complete=not busy and pages == moved)
    return result


def _update(
    connection: sqlite3.Connection, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> tuple[bool | None, int]:
    """Update the index; return True if it is new, False if it was up to date, None if not; and the commits read."""
    new = is_empty(connection)
    if new:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_UPDATE_CACHE_KIBIBYTES}")
    if not new and read_property(connection, "refs") == digest_of(refs):
        return False, 0
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        new = is_empty(connection)  # another process may have created it in the meantime
        if new:
            create_tables(connection, LAYOUT, identity_of(repository.path))
        read = sync_index(connection, repository, refs, describe)
    return (True if new else None), read
