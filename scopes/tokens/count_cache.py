"""Cache of token counts between processes, so that an encoding is not loaded to count the same texts again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Self

from scopes.tokens.choose import ScaledTokenizer, Tokenizer, TokenizerChoice

if TYPE_CHECKING:
    from scopes.index.token_counts import CountFile

FILE = "counts.sqlite"
KEY_BYTES = 16


class CountCache:
    """Counts by key (16 bytes) in an SQLite file; opened by the first `find` if it exists, closed on exit of `with`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._file: CountFile | None = None
        self._is_opened = False
        self._new: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def find(self, key: bytes) -> int | None:
        """Return a count; None if it is not cached."""
        if not self._is_opened:
            self._is_opened = True
            if os.path.lexists(os.path.join(self._directory, FILE)):  # otherwise SQLite is not loaded
                self._file = _open(self._directory)
        count = self._new.get(key)
        return self._file.find(key) if count is None and self._file is not None else count

    def add(self, key: bytes, tokens: int) -> None:
        """Add a count; `save` writes it to the file."""
        self._new[key] = tokens

    def save(self) -> None:
        """Write added counts to the file; a file that cannot be written is ignored."""
        if self._new:
            self._file = self._file or _open(self._directory)
            self._file.add(self._new)
            self._new.clear()


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


def _open(directory: str) -> CountFile:
    from scopes.index.token_counts import CountFile

    return CountFile(directory)
