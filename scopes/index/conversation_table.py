"""What `list` says of every conversation, kept by the state of its refs, so that a list need not open the store.

A row holds as long as the refs of its conversation are what they were when it was made; the whole table holds as long
as the files of all refs are. A check sum over all rows tells damage that SQLite does not.
"""

from __future__ import annotations

import contextlib
import marshal
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from scopes.ids import AgentName, BranchName, ConversationId
from scopes.index.database import (
    MISREAD,
    Layout,
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
from scopes.model.path_encoding import decode_component, encode_component

LAYOUT: Final = Layout(
    "conversations.sqlite",
    version=1,
    tables="""
CREATE TABLE conversation (
    id TEXT PRIMARY KEY, participants TEXT NOT NULL, branches INTEGER NOT NULL, last_activity TEXT, title TEXT,
    active_branch TEXT, uuid TEXT, created_at TEXT, source TEXT, messages INTEGER, opening TEXT,
    state TEXT NOT NULL, complete INTEGER NOT NULL
) STRICT, WITHOUT ROWID""",
)
_BUSY_SECONDS: Final = 0.2  # what another process keeps meanwhile need not be kept twice
_BRIEF: Final = "SELECT id, participants, branches, last_activity, title FROM conversation ORDER BY id"
_WHOLE: Final = "SELECT * FROM conversation ORDER BY id"
_STAND: Final = "INSERT OR REPLACE INTO standing VALUES (?, ?)"
_INSERT: Final = "INSERT OR REPLACE INTO conversation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class ConversationSummary(NamedTuple):
    """One conversation in a list; what costs a walk is None unless it was asked for. Times are RFC 3339.

    `opening` is how its first prompt begins, for one that has no title.
    """

    id: ConversationId
    participants: tuple[AgentName, ...]
    branches: int
    last_activity: str | None
    title: str | None = None
    active_branch: BranchName | None = None
    uuid: str | None = None
    created_at: str | None = None
    source: str | None = None
    messages: int | None = None
    opening: str | None = None


_OPENING: Final = ConversationSummary._fields.index("opening")


class CachedSummary(NamedTuple):
    """A summary with the state of the refs that it was made from; `complete` where nothing was left out."""

    summary: ConversationSummary
    state: str
    complete: bool


class States(NamedTuple):
    """What differs once a ref may have moved, of those that a brief and of those that a complete list is made from.

    The second is None where it was not looked at.
    """

    brief: str
    complete: str | None


class ConversationTable:
    """The table in a file that is open; without a connection it is empty and keeps nothing.

    `trouble` says what was wrong with the file that was there before.
    """

    def __init__(
        self, connection: sqlite3.Connection | None, rows: Mapping[ConversationId, CachedSummary], trouble: str | None
    ) -> None:
        self.rows = rows
        self.trouble = trouble
        self._connection = connection
        self._read = None if connection is None else _sum(_laid_out(rows))

    def keep(self, found: Iterable[CachedSummary], states: States | None) -> None:
        """Keep these rows and no others, as far as that is possible; `states` are those of now, None if uncertain.

        What somebody else has kept since this was opened stays: it is as good.
        """
        if self._connection is None:
            return
        now = {kept.summary.id: kept for kept in found}
        gone = [(name,) for name in self.rows if name not in now]
        changed = [_row(kept) for name, kept in now.items() if self.rows.get(name) != kept]
        complete = None if states is None or not all(kept.complete for kept in now.values()) else states.complete
        with contextlib.suppress(*MISREAD, UnicodeEncodeError):
            known = {key: read_property(self._connection, key) for key in ("brief", "complete")}
            if not gone and not changed:
                complete = complete or known["complete"]  # which is that of these rows
            standing = {"brief": None if states is None else states.brief, "complete": complete}
            if gone or changed or known != standing:
                self._connection.execute("BEGIN IMMEDIATE")
                with self._connection:  # which commits, or rolls back
                    if (read_property(self._connection, _WHOLE) or _sum([])) != self._read:
                        return
                    self._connection.executemany("DELETE FROM conversation WHERE id = ?", gone)
                    self._connection.executemany(_INSERT, changed)
                    sums = {sel: _sum(self._connection.execute(sel).fetchall()) for sel in (_BRIEF, _WHOLE)}
                    self._connection.executemany(_STAND, [*standing.items(), *sums.items()])


def find_summaries(directory: str, store: str, state: str, *, complete: bool) -> list[ConversationSummary] | None:
    """Return the summaries of all conversations by id where they are of this state of the refs, otherwise None.

    What is not asked for is left out, whether it is known or not.
    """
    try:
        with contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)) as connection:
            connection.execute("BEGIN")  # one moment for all that is read
            if is_empty(connection) or not is_ours(connection, LAYOUT, identity_of(store)):
                return None
            if read_property(connection, "complete" if complete else "brief") != state:
                return None
            rows, people = _rows(connection, _WHOLE if complete else _BRIEF)
            if complete:
                return [ConversationSummary(row[0], people[row[1]], *row[2:_OPENING]) for row in rows]
            return [ConversationSummary(a, people[b], c, d, e) for a, b, c, d, e in rows]
    except (*MISREAD, OSError, UnusableIndex, TypeError, ValueError):
        return None


@contextmanager
def open_conversation_table(directory: str, store: str) -> Iterator[ConversationTable]:
    """Open the table of a store, made anew where it is missing, damaged or another's.

    Where it cannot be kept it is empty.
    """
    trouble: str | None = None
    for _ in range(2):
        try:
            connection = connect(directory, LAYOUT, _BUSY_SECONDS)
            rows = _prepared(connection, identity_of(store))
        except UnusableIndex as reason:
            trouble = trouble or reason.text
            remove(directory, LAYOUT)
        except (sqlite3.Error, OSError):
            break
        else:
            with contextlib.closing(connection):
                yield ConversationTable(connection, rows, trouble)
            return
    yield ConversationTable(None, {}, trouble)


def _prepared(connection: sqlite3.Connection, store: str) -> dict[ConversationId, CachedSummary]:
    """Return what the file holds, and make the tables where it is new; it is closed where that fails."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(connection))
        with judging():
            if is_empty(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    if is_empty(connection):  # nobody else has made it meanwhile
                        create_tables(connection, LAYOUT, store)
            if not is_ours(connection, LAYOUT, store):
                raise UnusableIndex("belonged to another store or another version")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN")  # one moment for the rows and their sum
            with connection:
                rows, people = _rows(connection, _WHOLE)
            found = {
                name: CachedSummary(ConversationSummary(name, people[names], *values), state, bool(complete))
                for name, names, *values, state, complete in rows
            }
        stack.pop_all()
    return found


def _rows(
    connection: sqlite3.Connection, select: str
) -> tuple[list[tuple[Any, ...]], Mapping[str, tuple[AgentName, ...]]]:
    """Return the columns of all rows by id, and who is meant by what stands for the participants.

    Raises:
        Unfit: they are not what was written.
    """
    rows = connection.execute(select).fetchall()
    if (read_property(connection, select) or _sum([])) != _sum(rows):
        raise UnusableIndex("was damaged")
    several = {row[1] for row in rows}
    return rows, {text: tuple(map(_name, text.split("/"))) if text else () for text in several}


def _name(component: str) -> AgentName:
    return AgentName(decode_component(component))


def _row(kept: CachedSummary) -> tuple[object, ...]:
    name, people, *values = kept.summary
    return name, "/".join(map(encode_component, people)), *values, kept.state, int(kept.complete)


def _laid_out(rows: Mapping[ConversationId, CachedSummary]) -> list[tuple[object, ...]]:
    """Return the rows as the file has them, in its order, which is that of the bytes of the ids."""
    return [_row(rows[name]) for name in sorted(rows)]


def _sum(rows: Sequence[Sequence[object]]) -> str:
    """Return the check sum of all rows, in their order; marshal lays them out, in its second version always alike."""
    return str(zlib.crc32(marshal.dumps(list(rows), 2)))
