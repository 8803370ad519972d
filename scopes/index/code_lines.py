"""The index of the lines that edits added, which `why` reads: its tables, and how its file is opened and updated.

conversation  the conversations that were read, with a digest of their tips and the time of their messages
turn          a prompt and what belongs to it, as commits of the store
edit          a call that added lines to a file; `hashes` are those of all its lines, 8 bytes each, `shorts` of lines
              that are too short for that, which are in edit_line only if there are few others
edit_line     an edit by the hash of each of its lines, combined with that of the name of the file
commit_call   a call that ran `git commit`; `printed` is JSON, null without a result

`code_links/edit_index` fills them: this module knows no messages. A line of the file is read by its hash, so that a
query reads a few rows of a large file. SQLite does not detect flipped bits: the file has checksums (`checksums`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from scopes.index.checksums import hold_lock, record, verify
from scopes.index.database import (
    READ_ERRORS,
    Layout,
    UnusableIndex,
    connect,
    create_tables,
    has_regular_files,
    identity_of,
    is_empty,
    is_ours,
    prepare,
    remove,
    translate_damage,
)
from scopes.result import Note

LAYOUT: Final = Layout(
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
_BUSY_SECONDS: Final = 20.0
_CACHE_KIBIBYTES: Final = 65536
_REBUILT: Final = "it was rebuilt; nothing was lost"


@contextmanager
def open_code_lines(
    directory: str,
    store: str,
    is_current: Callable[[sqlite3.Connection], bool],
    update: Callable[[sqlite3.Connection], None],
) -> Iterator[tuple[sqlite3.Connection, tuple[Note, ...]]]:
    """Open the file of a store and bring it up to date; yield the connection and notes about the file.

    A missing, damaged, foreign or outdated file is built again. If none can be kept, it is built in memory. An error
    that `update` raises about the store passes, and the file stays as it was.
    """
    notes: list[Note] = []
    connection = None
    for _ in range(2):
        try:
            connection = _open_file(directory, store, is_current, update)
            break
        except UnusableIndex as reason:
            if reason.text is not None:
                notes.append(Note(f"the index of code lines {reason.text}", _REBUILT))
            remove(directory, LAYOUT)
        except (sqlite3.Error, OSError) as error:
            notes.append(Note(f"the index of code lines cannot be kept: {error}", f"it would be in {directory}"))
            break
    if connection is None:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        create_tables(connection, LAYOUT, store)
        update(connection)
    with contextlib.closing(connection):
        yield connection, tuple(notes)


def _open_file(
    directory: str,
    store: str,
    is_current: Callable[[sqlite3.Connection], bool],
    update: Callable[[sqlite3.Connection], None],
) -> sqlite3.Connection:
    """Return a connection to the verified file in a state that `is_current`.

    Raises:
        UnusableIndex: it must be deleted.
        OSError, sqlite3.Error: it cannot be opened or written.
    """
    prepare(directory)
    path = os.path.join(directory, LAYOUT.file)
    with hold_lock(path, _BUSY_SECONDS, exclusive=False):
        connection = _open_current(directory, path, store, is_current)
    if connection is None:
        with hold_lock(path, _BUSY_SECONDS, exclusive=True):
            with translate_damage():
                _update_file(directory, path, store, update)
            connection = connect(directory, LAYOUT, _BUSY_SECONDS)
    return connection


def _open_current(
    directory: str, path: str, store: str, is_current: Callable[[sqlite3.Connection], bool]
) -> sqlite3.Connection | None:
    """Return a connection if the file is verified and needs no update, else None."""
    if not has_regular_files(path) or verify(path) is None:
        return None
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)))
        try:
            usable = not is_empty(connection) and is_ours(connection, LAYOUT, identity_of(store))
            if not usable or not is_current(connection):
                return None
        except READ_ERRORS:
            return None
        stack.pop_all()
        return connection


def _update_file(directory: str, path: str, store: str, update: Callable[[sqlite3.Connection], None]) -> None:
    """Verify the file, update it in one transaction, and save its checksums."""
    existed = os.path.exists(path) and os.path.getsize(path) > 0
    if existed and (not has_regular_files(path) or verify(path, whole=True) is None):
        raise UnusableIndex("was damaged")
    with contextlib.closing(connect(directory, LAYOUT, _BUSY_SECONDS)) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits, or rolls back
            if is_empty(connection):
                create_tables(connection, LAYOUT, identity_of(store))
            if not is_ours(connection, LAYOUT, identity_of(store)):
                raise UnusableIndex("belonged to another store or another version")
            update(connection)
    record(path, None, ())
