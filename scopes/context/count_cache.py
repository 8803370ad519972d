"""Numbers of tokens of texts, kept for all stores, so that an encoding is rarely loaded."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Final, Self

from scopes.index.sqlite_files import ROW_ERRORS, Connection, Layout, change_rows, open_rows
from scopes.tokens.count import ScaledTokenizer, Tokenizer, TokenizerChoice

COUNTS: Final = Layout(
    "counts.sqlite",
    version=3,
    tables="CREATE TABLE count (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) STRICT, WITHOUT ROWID",
)
_COUNTS_BUSY_SECONDS: Final = 0.25
_MAX_COUNTS_BYTES: Final = 64 << 20  # about a million and a half counts


class CountCache:
    """Numbers of tokens by the hash of a text, of all stores; a `with` statement saves new ones at its end."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._new: dict[bytes, int] = {}
        self._connection: Connection | None = None
        self._open_file = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.suppress(*ROW_ERRORS):
            rows = open_rows(self._directory, COUNTS, self._directory, _COUNTS_BUSY_SECONDS)
            self._connection = self._open_file.enter_context(rows)
        return self

    def __exit__(self, *_: object) -> None:
        """Save what was added; a file that has become too large is emptied first."""
        self._connection = None
        self._open_file.close()
        if not self._new:
            return
        rows = change_rows(self._directory, COUNTS, self._directory, _COUNTS_BUSY_SECONDS)
        with contextlib.suppress(*ROW_ERRORS), rows as connection:
            if os.path.getsize(os.path.join(self._directory, COUNTS.file)) > _MAX_COUNTS_BYTES:
                connection.execute("DELETE FROM count")
            connection.executemany("INSERT OR REPLACE INTO count VALUES (?, ?)", self._new.items())
        self._new.clear()

    def find(self, key: bytes) -> int | None:
        """Return a count; None if it is not cached."""
        if key in self._new or self._connection is None:
            return self._new.get(key)
        try:
            row = self._connection.execute("SELECT tokens FROM count WHERE key = ?", (key,)).fetchone()
        except ROW_ERRORS:
            self._connection = None  # what is added now is saved over it
            return None
        return None if row is None else int(row[0])

    def add(self, key: bytes, tokens: int) -> None:
        """Add a count."""
        self._new[key] = tokens


class CachingTokenizer:
    """Counts with another tokenizer, but only texts whose count is not cached."""

    def __init__(self, tokenizer: Tokenizer, cache: CountCache) -> None:
        self.method = tokenizer.method
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._cache = cache

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        # a tokenizer's name never contains a zero byte
        key = sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]
        tokens = self._cache.find(key)
        if tokens is None:
            tokens = self._tokenizer.count(text)
            self._cache.add(key, tokens)
        return tokens


@contextmanager
def with_cache(choice: TokenizerChoice, directory: str) -> Iterator[TokenizerChoice]:
    """Put the cache of a directory in front of a tokenizer; of a scaled tokenizer the unscaled counts are cached."""
    tokenizer = choice.tokenizer
    with CountCache(directory) as cache:
        if isinstance(tokenizer, ScaledTokenizer):
            yield choice._replace(tokenizer=tokenizer.over(CachingTokenizer(tokenizer.counter, cache)))
        else:
            yield choice._replace(tokenizer=CachingTokenizer(tokenizer, cache))
