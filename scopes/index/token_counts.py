"""The cache of token counts: an SQLite table, so that one count is found without reading all of them.

Nothing here raises: if the file is missing, locked, damaged, foreign or not writable, a count is not found. A file that
is damaged, foreign or too large is replaced by an empty one when counts are added.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping

from scopes.index.database import ROW_ERRORS, Layout, UnusableIndex, connect, prepare_rows, remove_unusable

LAYOUT = Layout(
    "counts.sqlite",
    version=2,
    tables="CREATE TABLE count (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) STRICT, WITHOUT ROWID",
)
_OF_ALL_STORES = ""
_BUSY_SECONDS = 0.25
_MAX_BYTES = 64 << 20  # about a million and a half counts


class CountFile:
    """Token counts by key, in a directory; after an error `find` returns None until counts are added."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._connection: sqlite3.Connection | None = None
        if os.path.lexists(os.path.join(directory, LAYOUT.file)):
            self._open()

    def close(self) -> None:
        """Close the database; no count is found afterwards."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def find(self, key: bytes) -> int | None:
        """Return the count of a key; None if it is unknown."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute("SELECT tokens FROM count WHERE key = ?", (key,)).fetchone()
        except ROW_ERRORS as error:
            self._close_after(error)
            return None
        return None if row is None else int(row[0])

    def add(self, counts: Mapping[bytes, int]) -> None:
        """Store counts in one transaction; if the file cannot hold them, replace it and try once more."""
        for _ in range(2):
            if self._connection is None:
                self._open()
            if self._connection is None or self._insert(self._connection, counts):
                return

    def _insert(self, connection: sqlite3.Connection, counts: Mapping[bytes, int]) -> bool:
        try:
            if os.path.getsize(os.path.join(self._directory, LAYOUT.file)) > _MAX_BYTES:
                raise UnusableIndex(None)
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                connection.executemany("INSERT OR REPLACE INTO count VALUES (?, ?)", counts.items())
        except ROW_ERRORS as error:
            self._close_after(error)
            return False
        return True

    def _open(self) -> None:
        for _ in range(2):
            try:
                with contextlib.ExitStack() as on_error:
                    connection = connect(self._directory, LAYOUT, _BUSY_SECONDS)
                    on_error.callback(connection.close)
                    prepare_rows(connection, LAYOUT, _OF_ALL_STORES)
                    on_error.pop_all()
            except ROW_ERRORS as error:
                self._close_after(error)
            else:
                self._connection = connection
                return

    def _close_after(self, error: Exception) -> None:
        self.close()
        remove_unusable(self._directory, LAYOUT, error)
