"""The cache of token counts: an SQLite table, so that one count is found without reading all of them.

A row holds a key, its count and a checksum of both, because SQLite does not detect a flipped bit. Nothing here raises:
if the file is missing, locked, damaged, foreign or not writable, a count is not found. A file that is damaged, foreign
or too large is replaced by an empty one when counts are added.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from zlib import crc32

from scopes.index.database import READ_ERRORS, SUFFIXES, UnusableIndex, has_regular_files, is_damage

_APPLICATION = 0x73636F74  # "scot"
_VERSION = 1
_BUSY_SECONDS = 0.25
_READS = 256  # in one transaction: locking the file takes longer than a read, and whoever adds counts waits for the end
_MAX_BYTES = 64 << 20  # about a million and a half counts
_CHECK_BITS = 32
_MAX_TOKENS = 1 << 31
_FAILURES = (*READ_ERRORS, OSError, OverflowError)


class CountFile:
    """Token counts by key. The file is opened once; after an error `find` returns None until counts are added.

    The owner closes it, or uses it as a context manager.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._must_replace = False
        self._connection: sqlite3.Connection | None = None
        self._reads = 0
        if os.path.lexists(path):
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; no count is found afterwards."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def find(self, key: bytes) -> int | None:
        """Return the count of a key; None if it is unknown or its checksum is wrong."""
        if self._connection is None:
            return None
        try:
            if self._reads % _READS == 0:
                _end_reading(self._connection)
                self._connection.execute("BEGIN")
            self._reads += 1
            row = self._connection.execute("SELECT value FROM count WHERE key = ?", (key,)).fetchone()
        except _FAILURES as error:
            self._close_after(error)
            return None
        return None if row is None else _unpack(key, row[0])

    def add(self, counts: Mapping[bytes, int]) -> None:
        """Store counts in one transaction; if the file cannot hold them, replace it and try once more."""
        rows = [(key, _pack(key, tokens)) for key, tokens in counts.items() if 0 <= tokens < _MAX_TOKENS]
        if self._connection is not None and self._is_full():
            self._close_after(UnusableIndex(None))
        for _ in range(2):
            if self._must_replace or not os.path.lexists(self._path):
                self._replace()
            if self._connection is None or self._insert(self._connection, rows):
                return

    def _is_full(self) -> bool:
        try:
            return os.path.getsize(self._path) > _MAX_BYTES
        except OSError:  # another process has replaced the file
            return True

    def _insert(self, connection: sqlite3.Connection, rows: list[tuple[bytes, int]]) -> bool:
        try:
            _end_reading(connection)
            self._reads = 0
            connection.execute("PRAGMA synchronous = OFF")  # lost counts cost time only, and damage is detected
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                connection.executemany("INSERT OR REPLACE INTO count VALUES (?, ?)", rows)
        except _FAILURES as error:
            self._close_after(error)
            return False
        return True

    def _open(self) -> None:
        try:
            if os.path.islink(self._path) or not has_regular_files(self._path):
                return
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            [application] = self._connection.execute("PRAGMA application_id").fetchone()
            [version] = self._connection.execute("PRAGMA user_version").fetchone()
        except _FAILURES as error:
            self._close_after(error)
            return
        if (application, version) != (_APPLICATION, _VERSION):
            self._close_after(UnusableIndex(None))

    def _replace(self) -> None:
        """Remove the file, if there is one, and create an empty one; without a connection if that fails."""
        self.close()
        self._must_replace = False
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            for suffix in SUFFIXES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path + suffix)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {_VERSION}")
                self._connection.execute(
                    "CREATE TABLE count (key BLOB PRIMARY KEY, value INTEGER) STRICT, WITHOUT ROWID"
                )
        except _FAILURES:
            self.close()

    def _close_after(self, error: Exception) -> None:
        """Close the database after an error; note whether the file must be replaced."""
        self._must_replace = not isinstance(error, OSError) and is_damage(error)
        self.close()


def _end_reading(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.rollback()


def _pack(key: bytes, tokens: int) -> int:
    return tokens << _CHECK_BITS | crc32(key + tokens.to_bytes(4, "big"))


def _unpack(key: bytes, value: object) -> int | None:
    if not isinstance(value, int) or value < 0:
        return None
    tokens = value >> _CHECK_BITS
    return tokens if value == _pack(key, tokens) else None
