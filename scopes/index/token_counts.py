"""The file that counts are kept in: a table of SQLite, so that one count is found without reading all of them.

A row is a key and its count with a checksum of both, because SQLite does not notice a flipped bit. A file that is
missing, locked, damaged, foreign or not to be written is a miss and never an error; a damaged or foreign one, and one
that has grown too large, begins anew.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Mapping
from zlib import crc32

from scopes.index.database import MISREAD, UnusableIndex, is_damage

_APPLICATION = 0x73636F74  # "scot"
_VERSION = 1
_BUSY_SECONDS = 0.25
_LARGEST_BYTES = 64 << 20  # about a million and a half counts
_CHECK_BITS = 32
_MOST_TOKENS = 1 << 31
_FAILURES = (*MISREAD, OSError, OverflowError)


class CountFile:
    """Counts by key, opened once; after any failure nothing is found any more."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._unfit = False
        self._connection: sqlite3.Connection | None = None
        if os.path.lexists(path):
            self._connection = self._opened()

    def find(self, key: bytes) -> int | None:
        """Return a count, where it is known and whole."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute("SELECT value FROM count WHERE key = ?", (key,)).fetchone()
        except _FAILURES as error:
            self._give_up(error)
            return None
        return None if row is None else _unpacked(key, row[0])

    def add(self, counts: Mapping[bytes, int]) -> None:
        """Keep counts in one transaction; a file that cannot hold them begins anew, once."""
        rows = [(key, _packed(key, tokens)) for key, tokens in counts.items() if 0 <= tokens < _MOST_TOKENS]
        if self._connection is not None and self._is_full():
            self._give_up(UnusableIndex(None))
        for _ in range(2):
            if self._unfit or not os.path.lexists(self._path):
                self._connection = self._made()
            if self._connection is None or self._inserted(self._connection, rows):
                return

    def _is_full(self) -> bool:
        try:
            return os.path.getsize(self._path) > _LARGEST_BYTES
        except OSError:  # somebody else began it anew, and this is the old one
            return True

    def _inserted(self, connection: sqlite3.Connection, rows: list[tuple[bytes, int]]) -> bool:
        try:
            connection.execute("PRAGMA synchronous = OFF")  # a loss costs time only, and damage is noticed
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # which commits, or rolls back
                connection.executemany("INSERT OR REPLACE INTO count VALUES (?, ?)", rows)
        except _FAILURES as error:
            self._give_up(error)
            return False
        return True

    def _opened(self) -> sqlite3.Connection | None:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb", buffering=0) as file:
                regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if not regular:
                return None
            connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._connection = connection
            [application] = connection.execute("PRAGMA application_id").fetchone()
            [version] = connection.execute("PRAGMA user_version").fetchone()
        except _FAILURES as error:
            self._give_up(error)
            return None
        if (application, version) != (_APPLICATION, _VERSION):
            self._give_up(UnusableIndex(None))
            return None
        return connection

    def _made(self) -> sqlite3.Connection | None:
        """Make an empty file in the place of whatever is there."""
        self._unfit = False
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            for suffix in ("", "-journal", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path + suffix)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                connection.execute("CREATE TABLE count (key BLOB PRIMARY KEY, value INTEGER) STRICT, WITHOUT ROWID")
        except _FAILURES:
            return None
        return connection

    def _give_up(self, error: Exception) -> None:
        """Use the file no more; remember whether it has to go."""
        self._unfit = not isinstance(error, OSError) and is_damage(error)
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _packed(key: bytes, tokens: int) -> int:
    return tokens << _CHECK_BITS | crc32(key + tokens.to_bytes(4, "big"))


def _unpacked(key: bytes, value: object) -> int | None:
    if not isinstance(value, int) or value < 0:
        return None
    tokens = value >> _CHECK_BITS
    return tokens if value == _packed(key, tokens) else None
