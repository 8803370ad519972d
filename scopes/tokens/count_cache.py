"""Cache of token counts between processes, so that an encoding is not loaded to count the same texts again.

Nothing here raises: if the file is missing, locked, damaged or not writable, a count is not found, and what was added
is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack, closing
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from scopes.tokens.choose import ScaledTokenizer, Tokenizer, TokenizerChoice

if TYPE_CHECKING:
    from scopes.index.database import Connection, Layout

FILE: Final = "counts.sqlite"
KEY_BYTES: Final = 16
_TABLES: Final = "CREATE TABLE count (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) STRICT, WITHOUT ROWID"
_VERSION: Final = 2
_OF_ALL_STORES: Final = ""
_BUSY_SECONDS: Final = 0.25
_MAX_FILE_BYTES: Final = 64 << 20  # about a million and a half counts


class CountCache:
    """Counts by key (16 bytes) in an SQLite file; opened by the first `find` if it exists, closed on exit of `with`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, FILE)
        self._connection: Connection | None = None
        self._is_looked_for = False
        self._new: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def find(self, key: bytes) -> int | None:
        """Return a count; None if it is not cached."""
        count = self._new.get(key)
        if count is not None or not (self._connection or self._can_open()):
            return count
        from scopes.index.database import ROW_ERRORS

        try:
            self._connection = self._connection or self._connect()
            row = self._connection.execute("SELECT tokens FROM count WHERE key = ?", (key,)).fetchone()
        except ROW_ERRORS as error:
            self._give_up(error)
            return None
        return None if row is None else int(row[0])

    def add(self, key: bytes, tokens: int) -> None:
        """Add a count; `save` writes it to the file."""
        self._new[key] = tokens

    def save(self) -> None:
        """Write added counts to the file, which is emptied first if it is too large."""
        if not self._new:
            return
        from scopes.index.database import ROW_ERRORS

        try:
            self._connection = self._connection or self._connect()
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:  # commits, or rolls back
                if os.path.getsize(self._path) > _MAX_FILE_BYTES:
                    self._connection.execute("DELETE FROM count")
                self._connection.executemany("INSERT OR REPLACE INTO count VALUES (?, ?)", self._new.items())
        except ROW_ERRORS as error:
            self._give_up(error)
        self._new.clear()

    def _can_open(self) -> bool:
        """Return True the first time, if there is a file; without one SQLite is not loaded."""
        is_first, self._is_looked_for = not self._is_looked_for, True
        return is_first and os.path.lexists(self._path)

    def _connect(self) -> Connection:
        """Open the file or create it.

        Raises:
            ROW_ERRORS: it cannot be used now, or not at all.
        """
        from scopes.index.database import connect, prepare_rows

        layout = _layout()
        with ExitStack() as on_error:
            connection = on_error.enter_context(closing(connect(self._directory, layout, _BUSY_SECONDS)))
            prepare_rows(connection, layout, _OF_ALL_STORES)
            on_error.pop_all()
            return connection

    def _give_up(self, error: Exception) -> None:
        """Close the file, and delete it if it is damaged or not ours."""
        from scopes.index.database import remove_unusable

        self.close()
        remove_unusable(self._directory, _layout(), error)


def _layout() -> Layout:
    from scopes.index.database import Layout

    return Layout(FILE, _VERSION, _TABLES)


class CachingTokenizer:
    """Counts with another tokenizer, but only texts whose count is not cached."""

    def __init__(self, tokenizer: Tokenizer, cache: CountCache) -> None:
        self.method = tokenizer.method
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._cache = cache

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted; cached ones are skipped."""
        self._tokenizer.prepare([text for text in texts if self._cache.find(self._key(text)) is None])

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        key = self._key(text)
        tokens = self._cache.find(key)
        if tokens is None:
            tokens = self._tokenizer.count(text)
            self._cache.add(key, tokens)
        return tokens

    def _key(self, text: str) -> bytes:
        """Hash a text with the tokenizer's name, which never contains a zero byte."""
        return sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def with_cache(choice: TokenizerChoice, cache: CountCache) -> TokenizerChoice:
    """Put a cache in front of a tokenizer; of a scaled tokenizer the unscaled counts are cached."""
    tokenizer = choice.tokenizer
    if isinstance(tokenizer, ScaledTokenizer):
        return choice._replace(tokenizer=tokenizer.over(CachingTokenizer(tokenizer.counter, cache)))
    return choice._replace(tokenizer=CachingTokenizer(tokenizer, cache))
