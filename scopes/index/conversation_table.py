"""The cache of `list`: a row for each conversation, so that a list need not open the store.

A row is valid as long as the refs of its conversation do not change; the whole table is valid as long as no ref file
changes. A checksum of all rows detects damage that SQLite does not detect. All rows together are stored once more as
two lists, brief and complete, each one value: to read ten thousand rows of a table takes three times as long.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, Literal, NamedTuple

from scopes.ids import AgentName, BranchName, ConversationId
from scopes.index.database import (
    READ_ERRORS,
    Layout,
    UnusableIndex,
    connect,
    create_if_empty,
    identity_of,
    is_empty,
    is_ours,
    read_property,
    remove,
    translate_damage,
)
from scopes.model.path_encoding import decode_component, encode_component

_BUSY_SECONDS: Final = 0.2  # if another process is writing, it saves the same rows
_REPLACE: Final = "INSERT OR REPLACE INTO conversation ({}) VALUES ({})"
_SELECT: Final = "SELECT {} FROM conversation ORDER BY id"
_FILES: Final = "-files"  # ends the name of the property with the digest of files
_SET_PROPERTY: Final = "INSERT OR REPLACE INTO property VALUES (?, ?)"


class ConversationRow(NamedTuple):
    """One conversation in a list. Fields that need a walk over the history are None unless requested.

    Each field is a column of the table, under the same name. Times are RFC 3339.

    opening: the beginning of the first prompt, if there is no title
    moment: the time of the last activity in nanoseconds, if another conversation was active in the same second
    recorded_at: when the newest message was written, if that is a merge of scopes, which has an earlier time
    directory: the working directory in which the conversation began, as it was recorded
    agent: the agent that wrote most of its messages
    model: the model of the newest answer that names one
    ahead: how many messages the default remote lacks; behind: how many only it has; None if it does not have the
        conversation, or there is no such remote
    """

    id: ConversationId
    participants: tuple[AgentName, ...]
    branches: int
    last_activity: str | None
    title: str | None = None
    opening: str | None = None
    moment: int | None = None
    recorded_at: str | None = None
    active_branch: BranchName | None = None
    uuid: str | None = None
    created_at: str | None = None
    source: str | None = None
    messages: int | None = None
    directory: str | None = None
    agent: AgentName | None = None
    model: str | None = None
    tags: tuple[str, ...] | None = None
    ahead: int | None = None
    behind: int | None = None

    @property
    def activity(self) -> str | None:
        """The time of the last activity that people see, which decides the order."""
        return self.last_activity if self.recorded_at is None else self.recorded_at

    @property
    def heading(self) -> str | None:
        """The title, or else the beginning of the first prompt."""
        return self.title if self.title is not None else self.opening

    @property
    def heading_source(self) -> str | None:
        """What `heading` is: `title` or `prompt`; None if there is neither."""
        return "title" if self.title is not None else None if self.opening is None else "prompt"


_FIELDS: Final = ConversationRow._fields
_BRIEF_FIELDS: Final = _FIELDS[: _FIELDS.index("active_branch")]
_OTHER_FIELDS: Final = _FIELDS[len(_BRIEF_FIELDS) :]
BRIEF_LENGTH: Final = len(_BRIEF_FIELDS)  # of a row without the fields that need a walk
_NAMES: Final = _FIELDS.index("participants")
_TAGS: Final = _FIELDS.index("tags")
_TYPES: Final = {
    "id": "TEXT PRIMARY KEY",
    "participants": "TEXT NOT NULL",
    "branches": "INTEGER NOT NULL",
    "last_activity": "TEXT",
    "title": "TEXT",
    "opening": "TEXT",
    "moment": "INTEGER",
    "recorded_at": "TEXT",
    "active_branch": "TEXT",
    "uuid": "TEXT",
    "created_at": "TEXT",
    "source": "TEXT",
    "messages": "INTEGER",
    "directory": "TEXT",
    "agent": "TEXT",
    "model": "TEXT",
    "tags": "TEXT",
    "ahead": "INTEGER",
    "behind": "INTEGER",
    "state": "TEXT NOT NULL",
    "complete": "INTEGER NOT NULL",
}
_COLUMNS: Final = (*_FIELDS, "state", "complete")
LAYOUT: Final = Layout(
    "conversations.sqlite",
    version=12,
    tables="CREATE TABLE conversation ("
    + ", ".join(f"{name} {_TYPES[name]}" for name in _COLUMNS)
    + ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE list (name TEXT PRIMARY KEY, checksum INTEGER NOT NULL, rows BLOB NOT NULL) STRICT",
)


_WHOLE: Final = _SELECT.format(", ".join(_COLUMNS))
_LISTS: Final = {"brief": BRIEF_LENGTH, "complete": len(_FIELDS)}  # the number of fields of their rows
_MARSHAL_VERSION: Final = 2  # every Python reads it, and its bytes depend on the values alone
_SHARING_VERSION: Final = 4  # every Python reads it, and equal values are written once if they are one object
_INSERT: Final = _REPLACE.format(", ".join(_COLUMNS), ", ".join("?" for _ in _COLUMNS))


class CachedRow(NamedTuple):
    """A row of `list` and a digest of the refs that it was made from; `complete` if all fields were computed."""

    summary: ConversationRow
    state: str
    complete: bool


class States(NamedTuple):
    """Digests of the refs that a brief list and a complete list depend on; `complete` is None if not computed."""

    brief: str
    complete: str | None


def brief_row(summary: ConversationRow) -> ConversationRow:
    """Return a row without the fields that need a walk over the history."""
    unset: dict[str, Any] = dict.fromkeys(_OTHER_FIELDS)
    return summary._replace(**unset)


class ConversationTable:
    """The open table; without a connection it is empty and saves nothing.

    `problem` describes why the file that existed before was deleted, or is None.
    """

    def __init__(
        self, connection: sqlite3.Connection | None, rows: Mapping[ConversationId, CachedRow], problem: str | None
    ) -> None:
        self.rows = rows
        self.problem = problem
        self._connection = connection
        self._checksum_read = None if connection is None else _checksum(_to_tuples(rows))

    def save(self, summaries: Iterable[CachedRow], states: States | None) -> None:
        """Replace the rows by these, if possible; `states` are the current digests, None if refs changed meanwhile.

        If another process has saved rows since this table was opened, its rows stay: they are as good.
        """
        if self._connection is None:
            return
        now = {row.summary.id: row for row in summaries}
        gone = [(name,) for name in self.rows if name not in now]
        changed = [_to_tuple(row) for name, row in now.items() if self.rows.get(name) != row]
        complete = None if states is None or not all(row.complete for row in now.values()) else states.complete
        with contextlib.suppress(*READ_ERRORS, UnicodeEncodeError):
            saved = {key: read_property(self._connection, key) for key in ("brief", "complete")}
            if not gone and not changed:
                complete = complete or saved["complete"]  # the rows are the same
            properties = {"brief": None if states is None else states.brief, "complete": complete}
            if gone or changed or saved != properties:
                self._connection.execute("BEGIN IMMEDIATE")
                with self._connection:  # commits, or rolls back
                    if (read_property(self._connection, _WHOLE) or _checksum([])) != self._checksum_read:
                        return
                    self._connection.executemany("DELETE FROM conversation WHERE id = ?", gone)
                    self._connection.executemany(_INSERT, changed)
                    whole = _checksum(self._connection.execute(_WHOLE).fetchall())
                    self._connection.executemany(_SET_PROPERTY, [*properties.items(), (_WHOLE, whole)])
                    self._save_lists([now[name].summary for name in sorted(now)], complete=complete is not None)

    def _save_lists(self, rows: Sequence[ConversationRow], *, complete: bool) -> None:
        """Save all rows as the brief list, and as the complete one if they are, in the current transaction."""
        if self._connection is not None:
            self._connection.execute("DELETE FROM list")
            for name, end in _LISTS.items() if complete else [("brief", _LISTS["brief"])]:
                data = marshal.dumps(_share_values(row[:end] for row in rows), _SHARING_VERSION)
                values = (name, zlib.crc32(data), data)
                self._connection.execute("INSERT INTO list VALUES (?, ?, ?)", values)


def find_rows(
    directory: str, store: str, state: str, *, complete: bool, by_files: bool = False
) -> list[ConversationRow] | None:
    """Return the rows of all conversations, sorted by id, if they match this digest of the refs; otherwise None.

    With `by_files` it is a digest that `save_files` saved. Without `complete`, only the fields of a brief list are set.
    """
    name = _name_of(complete=complete)
    try:
        with contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)) as connection:
            connection.execute("BEGIN")  # one snapshot for all reads
            if is_empty(connection) or not is_ours(connection, LAYOUT, identity_of(store)):
                return None
            saved = read_property(connection, name)
            if by_files:
                if saved is None or read_property(connection, name + _FILES) != f"{saved} {state}":
                    return None
            elif saved != state:
                return None
            [found] = connection.execute("SELECT checksum, rows FROM list WHERE name = ?", (name,))
            return _read_list(*found)
    except (*READ_ERRORS, OSError, UnusableIndex, EOFError, TypeError, ValueError):
        return None


def save_files(directory: str, store: str, state: str, files: str, *, complete: bool) -> None:
    """Save a digest of files that proves that the refs have a state, if possible; the rows have to be of that state."""
    name = _name_of(complete=complete)
    with (
        contextlib.suppress(*READ_ERRORS, OSError, UnusableIndex),
        contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)) as connection,
    ):
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits, or rolls back
            if is_ours(connection, LAYOUT, identity_of(store)) and read_property(connection, name) == state:
                connection.execute(_SET_PROPERTY, (name + _FILES, f"{state} {files}"))


def _name_of(*, complete: bool) -> str:
    return "complete" if complete else "brief"


def list_values(directory: str, column: Literal["participants", "directory", "model", "tags"]) -> list[str]:
    """Return the values of a field in all rows, which may be outdated; none if they cannot be read."""
    path = os.path.join(directory, LAYOUT.file)
    if not os.path.isfile(path):
        return []
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as connection:
            rows = connection.execute(f"SELECT DISTINCT {column} FROM conversation").fetchall()  # noqa: S608 - a literal
            texts = [text for (text,) in rows if text]
            if column in {"participants", "tags"}:
                texts = [name for text in texts for name in _split(text)]
    except (*READ_ERRORS, ValueError):
        return []
    return sorted(set(texts))


@contextmanager
def open_conversation_table(directory: str, store: str) -> Iterator[ConversationTable]:
    """Open the table of a store; replace it if it is missing, damaged or of another store.

    If the file cannot be used, the table is empty and saves nothing.
    """
    problem: str | None = None
    for _ in range(2):
        try:
            connection = connect(directory, LAYOUT, _BUSY_SECONDS)
            rows = _prepare(connection, identity_of(store))
        except UnusableIndex as reason:
            problem = problem or reason.text
            remove(directory, LAYOUT)
        except (sqlite3.Error, OSError):
            break
        else:
            with contextlib.closing(connection):
                yield ConversationTable(connection, rows, problem)
            return
    yield ConversationTable(None, {}, problem)


def _prepare(connection: sqlite3.Connection, store: str) -> dict[ConversationId, CachedRow]:
    """Return the rows of the file; create the tables if it is new. Close the connection on errors."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(connection))
        with translate_damage():
            if is_empty(connection):
                connection.execute("PRAGMA journal_mode = WAL")
            create_if_empty(connection, LAYOUT, store)
            if not is_ours(connection, LAYOUT, store):
                raise UnusableIndex("belonged to another store or another version")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN")  # one snapshot for the rows and their checksum
            with connection:
                rows = _read_rows(connection, _WHOLE)
            summaries = {
                summary.id: CachedRow(summary, state, bool(complete))
                for summary, (*_, state, complete) in zip(_convert_rows(rows), rows, strict=True)
            }
        stack.pop_all()
    return summaries


def _read_rows(connection: sqlite3.Connection, select: str) -> list[tuple[Any, ...]]:
    """Return all rows sorted by id.

    Raises:
        UnusableIndex: the checksum is wrong.
    """
    rows = connection.execute(select).fetchall()
    if (read_property(connection, select) or _checksum([])) != _checksum(rows):
        raise UnusableIndex("was damaged")
    return rows


def _read_list(checksum: int, data: bytes) -> list[ConversationRow]:
    """Return the rows of a saved list.

    Raises:
        UnusableIndex: the checksum is wrong.
    """
    if zlib.crc32(data) != checksum:
        raise UnusableIndex("was damaged")
    rows = marshal.loads(data)  # noqa: S302 - the file is ours, and its checksum is right
    unset = (None,) * (len(_FIELDS) - len(rows[0])) if rows else ()
    complete = [row + unset for row in rows] if unset else rows
    return list(map(tuple.__new__, repeat(ConversationRow), complete))


def _share_values(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return rows in which equal texts and tuples are one object: marshal writes and reads it once."""
    known: dict[object, object] = {}
    share = known.setdefault
    return [tuple([share(value, value) for value in row]) for row in rows]  # a generator takes three times as long


def _convert_rows(rows: Sequence[tuple[Any, ...]]) -> list[ConversationRow]:
    """Convert rows of the table, which begin with the fields of a ConversationRow.

    Each distinct text of participants is decoded once.
    """
    texts = {row[_NAMES] for row in rows}
    participants = {text: tuple(map(AgentName, _split(text))) for text in texts}
    end, after = len(_FIELDS), _NAMES + 1
    make = ConversationRow._make
    summaries = [make((*row[:_NAMES], participants[row[_NAMES]], *row[after:end])) for row in rows]
    for position, row in enumerate(rows):
        if row[_TAGS] is not None:
            summaries[position] = summaries[position]._replace(tags=_split(row[_TAGS]))
    return summaries


def _split(text: str) -> tuple[str, ...]:
    """Return the names in a column that was made by `_join`."""
    return tuple(map(decode_component, text.split("/"))) if text else ()


@lru_cache(maxsize=1000)  # many conversations have the same participants
def _join(names: tuple[str, ...]) -> str:
    """Return the names as one text, for a column."""
    return "/".join(map(encode_component, names))


def _to_tuple(row: CachedRow) -> tuple[object, ...]:
    summary = row.summary
    values = list(summary)
    values[_NAMES] = _join(summary.participants)
    values[_TAGS] = None if summary.tags is None else _join(summary.tags)
    return *values, row.state, int(row.complete)


def _to_tuples(rows: Mapping[ConversationId, CachedRow]) -> list[tuple[object, ...]]:
    """Return the rows as they are in the file, sorted by the bytes of the ids."""
    return [_to_tuple(rows[name]) for name in sorted(rows)]


def _checksum(rows: Sequence[Sequence[object]]) -> str:
    """Return the checksum of rows in their order."""
    return str(zlib.crc32(marshal.dumps(list(rows), _MARSHAL_VERSION)))
