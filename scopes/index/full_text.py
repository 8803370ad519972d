"""Open the search index and update it.

If the file cannot be written, or another process writes it for too long, the index is built in memory: the answers are
the same, but the whole store is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, NamedTuple, TypeAlias

from scopes.index.database import (
    READ_ERRORS,
    Connection,
    Opened,
    State,
    UnusableIndex,
    open_updated,
    read_property,
    without_purged,
)
from scopes.index.schema import LAYOUT
from scopes.index.sync import StaleEntryUnreadable, digest_of, sync_index
from scopes.index.writer import Describe
from scopes.result import Note
from scopes.store.prunes import again_after_prunes
from scopes.store.refs import HEADS
from scopes.store.repository import Repository

ColumnType: TypeAlias = type | UnionType

_PAGE = 100


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


class Index:
    """An up-to-date index of all messages that branches reach."""

    def __init__(self, connection: Connection, status: IndexStatus, notes: tuple[Note, ...]) -> None:
        self.status = status
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
    opened = again_after_prunes(
        repository.path, lambda: _open_unpurged(directory, repository, describe, rebuild=rebuild)
    )
    with contextlib.closing(opened.connection) as connection:
        try:
            properties: dict[str, Any] = dict(connection.execute("SELECT key, value FROM property"))
            counts = {name: int(properties[name]) for name in IndexStatus._fields[2:]}
        except (*READ_ERRORS, KeyError, ValueError, TypeError) as error:
            raise IndexDamaged(str(error)) from error
        yield Index(connection, IndexStatus(opened.state, opened.read, **counts), opened.notes)


def _open_unpurged(directory: str, repository: Repository, describe: Describe, *, rebuild: bool) -> Opened:
    """Open the index for the branches of now.

    Raises:
        Busy: a purge has deleted objects meanwhile, and with them the file, or will do so.
    """
    repository.forget_pruned()

    def is_current(connection: Connection) -> bool:
        return read_property(connection, "refs") == digest_of(refs)

    def update(connection: Connection) -> int:
        try:
            return sync_index(connection, repository, refs, describe)
        except StaleEntryUnreadable as error:
            raise UnusableIndex(None) from error

    with without_purged(directory, repository.path) as prunes:
        refs = repository.list_refs(HEADS)
        opened = open_updated(
            directory, LAYOUT, repository.path, is_current, update, what="the search index", is_damaged=rebuild
        )
    if prunes.have_run():
        opened.connection.close()
        prunes.require_none()
    return opened
