"""What was derived from a store and is kept, so that a command need not read everything again.

sessions    what a command has to know of every conversation, tip and stored source: a new session is compared with all
            others; `@` may be the latest one of those of a project. What that needs depends on one commit alone,
            that of the metadata, or the record of a source; the ids of messages depend on all tips of a conversation,
            of which they have a hash. So a row has one of these as its key, and the bytes that were made of it: it
            never is outdated. Rows of commits that no ref has any more are deleted when others are added.
usage       the tokens and answers of each conversation in a state of its refs, and their sum for the status line
code-lines  the lines that conversations have written, for `why`
commits     parsed commits of long histories

Functions that read or write rows do not raise: if the file is missing, locked, damaged or of another store, the objects
are read again.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from scopes.errors import Corrupt
from scopes.ids import ConversationId, Oid
from scopes.index.database import (
    ROW_ERRORS,
    Connection,
    Layout,
    UnusableIndex,
    change_rows,
    connect,
    identity_of,
    open_rows,
    open_updated,
    prepare_rows,
    remove,
    remove_unusable,
)
from scopes.result import Note

if TYPE_CHECKING:
    from scopes.store.objects import Commit

TABLES: Final = ("conversation", "source", "origin", "ids", "work_items")
SESSIONS: Final = Layout(
    "sessions.sqlite",
    version=6,
    tables=";".join(f"CREATE TABLE {name} (key BLOB PRIMARY KEY, data BLOB NOT NULL) STRICT" for name in TABLES),
)
_BUSY_SECONDS: Final = 0.05  # without the lock nothing is kept, and the next import tries again
Compute: TypeAlias = Callable[[Oid], bytes]


def find_or_compute(
    directory: str | None, store: str, rows: str, oids: Iterable[Oid], compute: Compute
) -> dict[Oid, bytes]:
    """Return the bytes of each object; those that are not kept in the index in `directory` are computed, and kept.

    rows: the table, one of TABLES

    Raises:
        As `compute`.
    """
    wanted = dict.fromkeys(oids)
    kept = {} if directory is None else _read(directory, store, rows)
    found = {oid: kept[oid] for oid in wanted if oid in kept}
    added = {oid: compute(oid) for oid in wanted if oid not in kept}
    if added and directory is not None:
        _write(directory, store, rows, added, kept.keys() - wanted.keys())
    return found | added


def _read(directory: str, store: str, rows: str) -> dict[Oid, bytes]:
    """Return all rows."""
    if not os.path.lexists(os.path.join(directory, SESSIONS.file)):
        return {}
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, SESSIONS, store, _BUSY_SECONDS) as connection:
        found = connection.execute(f"SELECT key, data FROM {rows}")  # noqa: S608 - one of TABLES
        return {Oid(key.hex()): data for key, data in found}
    return {}


def _write(directory: str, store: str, rows: str, added: Mapping[Oid, bytes], gone: Iterable[Oid]) -> None:
    """Add rows and delete others, or do nothing if that is not possible now."""
    new = [(bytes.fromhex(oid), data) for oid, data in added.items()]
    with contextlib.suppress(*ROW_ERRORS), change_rows(directory, SESSIONS, store, _BUSY_SECONDS) as connection:
        connection.executemany(
            f"INSERT OR REPLACE INTO {rows} VALUES (?, ?)",  # noqa: S608 - one of TABLES
            new,
        )
        connection.executemany(
            f"DELETE FROM {rows} WHERE key = ?",  # noqa: S608 - one of TABLES
            [(bytes.fromhex(oid),) for oid in gone],
        )


USAGE: Final = Layout(
    "usage.sqlite",
    version=3,
    tables="CREATE TABLE usage (conversation TEXT PRIMARY KEY, state TEXT NOT NULL, summary BLOB NOT NULL, "
    "answers BLOB NOT NULL) STRICT; CREATE TABLE total (state TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT",
)
_USAGE_BUSY_SECONDS: Final = 0.25


class UsageRow(NamedTuple):
    """A conversation, the state of its refs, and what was made of them; change the layout version with its bytes."""

    conversation: ConversationId
    state: str
    summary: bytes
    answers: bytes


def read_summaries(directory: str, store: str) -> dict[ConversationId, tuple[str, bytes]]:
    """Return state and summary of all conversations."""
    if not os.path.lexists(os.path.join(directory, USAGE.file)):
        return {}
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        rows = connection.execute("SELECT conversation, state, summary FROM usage")
        return {ConversationId(name): (state, summary) for name, state, summary in rows}
    return {}


def read_answers(directory: str, store: str, conversations: Iterable[ConversationId]) -> dict[ConversationId, bytes]:
    """Return the answers of conversations as they were in the state of their rows."""
    found: dict[ConversationId, bytes] = {}
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        for name in conversations:
            for (answers,) in connection.execute("SELECT answers FROM usage WHERE conversation = ?", (name,)):
                found[name] = answers
    return found


def write_rows(directory: str, store: str, rows: Iterable[UsageRow], gone: Iterable[ConversationId]) -> None:
    """Add rows and delete others, or do nothing if that is not possible now."""
    with contextlib.suppress(*ROW_ERRORS), change_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        connection.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)", list(rows))
        connection.executemany("DELETE FROM usage WHERE conversation = ?", [(name,) for name in gone])


def read_total(directory: str, store: str, state: str) -> bytes | None:
    """Return the sum of all conversations that was saved for a state of the refs; None if it is not there."""
    if not os.path.lexists(os.path.join(directory, USAGE.file)):
        return None
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        found = connection.execute("SELECT data FROM total WHERE state = ?", (state,)).fetchone()
        return None if found is None else bytes(found[0])
    return None


def write_total(directory: str, store: str, state: str, data: bytes) -> None:
    """Save the sum of all conversations in place of the one before, or do nothing if that is not possible now."""
    with contextlib.suppress(*ROW_ERRORS), change_rows(directory, USAGE, store, _USAGE_BUSY_SECONDS) as connection:
        connection.execute("DELETE FROM total")
        connection.execute("INSERT INTO total VALUES (?, ?)", (state, data))


CODE_LINES: Final = Layout(
    "code-lines.sqlite",
    version=8,
    tables="""
        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tips TEXT NOT NULL, first REAL NOT NULL,
            last REAL NOT NULL
        ) STRICT;
        CREATE TABLE turn (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, prompt TEXT,
            agreed_to TEXT, long_prompt TEXT, began REAL NOT NULL, ended REAL NOT NULL
        ) STRICT;
        CREATE INDEX turn_conversation ON turn (conversation);
        CREATE INDEX turn_prompt ON turn (prompt);
        CREATE TABLE edit (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, message TEXT NOT NULL,
            oid TEXT NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL, base_name TEXT NOT NULL,
            time REAL NOT NULL, hashes BLOB NOT NULL, shorts BLOB NOT NULL
        ) STRICT;
        CREATE INDEX edit_conversation ON edit (conversation);
        CREATE INDEX edit_time ON edit (time);
        CREATE TABLE edit_line (
            hash INTEGER NOT NULL, edit INTEGER NOT NULL, PRIMARY KEY (hash, edit)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE commit_call (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, message TEXT NOT NULL,
            oid TEXT NOT NULL, call_id TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL, command TEXT NOT NULL,
            printed TEXT NOT NULL
        ) STRICT;
        CREATE INDEX commit_call_conversation ON commit_call (conversation);
        CREATE INDEX commit_call_ended ON commit_call (ended)
    """,
)


@contextmanager
def open_code_lines(
    directory: str, store: str, is_current: Callable[[Connection], bool], update: Callable[[Connection], None]
) -> Iterator[tuple[Connection, tuple[Note, ...]]]:
    """Open the file of a store and bring it up to date; yield the connection and notes about the file.

    Raises:
        As `update` does; the file stays as it was.
        Corrupt: the file is damaged; it is removed, and the next call builds it again.
    """

    def count(connection: Connection) -> int:
        update(connection)
        return 0

    opened = open_updated(directory, CODE_LINES, store, is_current, count, what="the index of code lines")
    with contextlib.closing(opened.connection) as connection:
        try:
            yield connection, opened.notes
        except sqlite3.DatabaseError as error:
            remove(directory, CODE_LINES)
            raise Corrupt("the index of code lines was damaged, and is removed", hint="try again") from error


COMMITS: Final = Layout(
    "commits.sqlite", version=5, tables="CREATE TABLE chunk (key BLOB PRIMARY KEY, commits BLOB NOT NULL) STRICT"
)
_MAX_COMMITS_BYTES: Final = 128 << 20  # about half a million commits
_MARSHAL: Final = f"{sys.implementation.cache_tag}-{marshal.version}"  # the bytes of marshal belong to one Python
_FAILURES: Final = (*ROW_ERRORS, EOFError)


class CommitCache:
    """Parsed commits of one store, in chunks that a walk reads one after the other; see `store.graph`.

    Read one by one, the commits of a session of 4,000 messages take twice as long.
    """

    def __init__(self, directory: str, store: str) -> None:
        self._directory = directory
        self._store = store
        self._connection: sqlite3.Connection | None = None
        self._keys: set[Oid] = set()
        if os.path.lexists(os.path.join(directory, COMMITS.file)):
            self._open()

    def __del__(self) -> None:
        """Close the file."""
        self._close()

    def __contains__(self, key: object) -> bool:
        """Return True if there is a chunk with this key."""
        return key in self._keys

    def find(self, key: Oid) -> Sequence[Commit]:
        """Return the commits of a chunk, none if it is not there or damaged."""
        try:
            if self._connection is not None:
                for (data,) in self._connection.execute(
                    "SELECT commits FROM chunk WHERE key = ?", (bytes.fromhex(key),)
                ):
                    return _unpack(data)
        except _FAILURES as error:
            self._drop(error)
        return ()

    def add(self, commits: Sequence[Commit]) -> None:
        """Keep a chunk; its first commit is the key."""
        key = commits[0].oid
        try:
            if self._connection is None:
                self._open(create=True)
            if self._connection is not None:
                self._connection.execute("INSERT OR REPLACE INTO chunk VALUES (?, ?)", _pack(key, commits))
                self._keys.add(key)
        except _FAILURES as error:
            self._drop(error)

    def _open(self, *, create: bool = False) -> None:
        """Open the file and read its keys; with `create` make it, or replace one that cannot be used."""
        try:
            with contextlib.ExitStack() as stack:
                connection = stack.enter_context(contextlib.closing(connect(self._directory, COMMITS, _BUSY_SECONDS)))
                prepare_rows(connection, COMMITS, f"{identity_of(self._store)} {_MARSHAL}")
                if os.path.getsize(os.path.join(self._directory, COMMITS.file)) > _MAX_COMMITS_BYTES:
                    raise UnusableIndex(None)
                self._keys = {Oid(key.hex()) for (key,) in connection.execute("SELECT key FROM chunk")}
                self._connection = connection
                stack.pop_all()
        except _FAILURES as error:
            self._drop(error)
            if create and isinstance(error, UnusableIndex):
                self._open()

    def _drop(self, error: Exception) -> None:
        """Close the file after an error, and delete it if it cannot be used any more."""
        self._close()
        self._keys.clear()
        remove_unusable(self._directory, COMMITS, error)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _pack(key: Oid, commits: Sequence[Commit]) -> tuple[bytes, bytes]:
    """Return the row of a chunk: the fields of its commits as lists, each author once."""
    authors = list(dict.fromkeys(commit.author for commit in commits))
    numbers = {author: number for number, author in enumerate(authors)}
    data = marshal.dumps((
        list(map(tuple, authors)),
        [commit.oid for commit in commits],
        [commit.tree for commit in commits],
        [commit.parents for commit in commits],
        [numbers[commit.author] for commit in commits],
        [commit.time for commit in commits],
        [commit.subject for commit in commits],
        [commit.message_id for commit in commits],
        [commit.kind for commit in commits],
        [commit.to for commit in commits],
        {
            number: dict(commit.other_trailers)
            for number, commit in enumerate(commits)
            if commit.other_trailers is not None
        },
    ))  # fmt: skip
    return bytes.fromhex(key), data


def _unpack(data: bytes) -> Sequence[Commit]:
    """Return the commits of a row."""
    from scopes.store.objects import Commit, Identity

    fields = marshal.loads(data)  # noqa: S302 - our own file
    names, oids, trees, parents, numbers, times, *texts, others = fields
    authors = [Identity(*name) for name in names]
    who = [authors[number] for number in numbers]
    trailers = map(others.get, range(len(oids)))
    return list(map(Commit._make, zip(oids, trees, parents, who, times, *texts, trailers, strict=True)))
