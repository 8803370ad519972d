"""Opening the index, in whatever state it is: a missing, damaged, old or foreign one is made anew, and says so.

Where the cache cannot be written, or somebody else is writing it for too long, the index is made in memory: the answer
is the same, and takes as long as reading the store takes.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.index.database import (
    MISREAD,
    UnusableIndex,
    connect,
    create_tables,
    identity_of,
    is_empty,
    is_ours,
    judging,
    read_property,
    remove,
)
from scopes.index.document import Describe
from scopes.index.schema import LAYOUT
from scopes.index.sync import StaleEntryUnreadable, digest_of, sync_index
from scopes.result import Note
from scopes.store.refs import HEADS
from scopes.store.repository import Repository

State: TypeAlias = Literal["fresh", "updated", "built", "rebuilt", "in-memory"]

Kind: TypeAlias = type | UnionType

_BUSY_SECONDS = 20.0
_PAGE = 100
_AGAIN = "it was made anew; nothing was lost"


class IndexStatus(NamedTuple):
    """What the index covers and how it came to that; `read` are the commits that were read just now."""

    state: State
    read: int
    conversations: int
    branches: int
    messages: int
    damaged: int
    unreadable: int


class IndexDamaged(Exception):
    """The index says what cannot be; what it said before cannot be trusted either."""


class Index:
    """An index that holds what the branches reach at present."""

    def __init__(self, connection: sqlite3.Connection, standing: IndexStatus, notes: tuple[Note, ...]) -> None:
        self.standing = standing
        self.notes = notes
        self._connection = connection

    def rows(
        self, statement: str, parameters: Sequence[object] = (), kinds: Sequence[Kind] = ()
    ) -> list[tuple[Any, ...]]:
        """Run a query whose columns are of these kinds, where any are given.

        Raises:
            IndexDamaged: it cannot be answered, or something else stands there.
        """
        return list(self.walk(statement, parameters, kinds))

    def walk(
        self, statement: str, parameters: Sequence[object] = (), kinds: Sequence[Kind] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows as they are asked for; raises as `rows` does."""
        try:
            cursor = self._connection.execute(statement, parameters)
            while rows := cursor.fetchmany(_PAGE):
                if not all(isinstance(value, kind) for row in rows for value, kind in zip(row, kinds, strict=False)):
                    raise IndexDamaged("a value is of another kind")
                yield from rows
        except MISREAD as error:
            raise IndexDamaged(str(error)) from error


@contextmanager
def open_index(
    directory: str, repository: Repository, describe: Describe, *, distrust: bool = False
) -> Iterator[Index]:
    """Open the index in a directory and bring it up to date; with `distrust` what is there is thrown away first."""
    refs = repository.list_refs(HEADS)
    notes: list[Note] = []
    connection, state, read = _opened(directory, repository, refs, describe, notes, distrust=distrust)
    with contextlib.closing(connection):
        try:
            known: dict[str, Any] = dict(connection.execute("SELECT key, value FROM standing"))
            counts = {name: int(known[name]) for name in IndexStatus._fields[2:]}
        except (*MISREAD, KeyError, ValueError, TypeError) as error:
            raise IndexDamaged(str(error)) from error
        yield Index(connection, IndexStatus(state, read, **counts), tuple(notes))


def _opened(
    directory: str,
    repository: Repository,
    refs: Mapping[str, str],
    describe: Describe,
    notes: list[Note],
    *,
    distrust: bool,
) -> tuple[sqlite3.Connection, State, int]:
    """Try the index as it is, then a new one in its place, and at last one in memory."""
    state: State = "updated"
    if distrust:
        remove(directory, LAYOUT)
        notes.append(Note("the search index was damaged", _AGAIN))
        state = "rebuilt"
    for _ in range(2):
        try:
            connection, made, read = _on_disk(directory, repository, refs, describe)
        except UnusableIndex as reason:
            if reason.text is not None:
                notes.append(Note(f"the search index {reason.text}", _AGAIN))
            remove(directory, LAYOUT)
            state = "rebuilt"
            continue
        except (sqlite3.Error, OSError) as error:
            notes.append(Note(f"the search index cannot be kept: {error}", f"it would be in {directory}"))
            break
        fitting: State = "built" if made else "updated" if read or made is None else "fresh"
        return connection, "rebuilt" if state == "rebuilt" else fitting, read
    with contextlib.ExitStack() as on_error:
        connection = on_error.enter_context(contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)))
        create_tables(connection, LAYOUT, repository.path)
        read = sync_index(connection, repository, refs, describe)
        on_error.pop_all()
    return connection, "in-memory", read


def _on_disk(
    directory: str, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> tuple[sqlite3.Connection, bool | None, int]:
    """Open the file and bring it up to date; tell whether it is new, None where it is not and was behind."""
    connection = connect(directory, LAYOUT, _BUSY_SECONDS)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(connection))
        try:
            with judging():
                result = _brought_up(connection, repository, refs, describe)
        except StaleEntryUnreadable as error:
            raise UnusableIndex(None) from error
        stack.pop_all()
    return connection, *result


def _brought_up(
    connection: sqlite3.Connection, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> tuple[bool | None, int]:
    store = identity_of(repository.path)
    new = is_empty(connection)
    if new:
        connection.execute("PRAGMA journal_mode = WAL")
    elif not is_ours(connection, LAYOUT, store):
        raise UnusableIndex("belonged to another store or another version")
    connection.execute("PRAGMA synchronous = NORMAL")
    if not new and read_property(connection, "refs") == digest_of(refs):
        return False, 0
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # which commits, or rolls back
        new = is_empty(connection)  # somebody else may have made it meanwhile
        if new:
            create_tables(connection, LAYOUT, store)
        read = sync_index(connection, repository, refs, describe)
    return (True if new else None), read
