"""Counts that were made before, so that an encoding need not be loaded to make them again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from scopes.loading import load
from scopes.tokens.choose import ScaledTokenizer, Tokenizer, TokenizerChoice

if TYPE_CHECKING:
    from scopes.index.token_counts import CountFile

FILE = "counts.sqlite"
KEY_BYTES = 16


class CountCache(Protocol):
    """A memory of counts, by a key of 16 bytes."""

    def find(self, key: bytes) -> int | None:
        """Return a count, where it is known."""

    def remember(self, key: bytes, tokens: int) -> None:
        """Note a count."""

    def save(self) -> None:
        """Keep what was noted, as far as that is possible."""


class FileCountCache:
    """Counts in a file of the cache directory, opened by the first `find` if it exists; a context manager closes it."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, FILE)
        self._file: CountFile | None = None
        self._looked = False
        self._new: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def find(self, key: bytes) -> int | None:
        """Return a count, where it is known."""
        if not self._looked:
            self._looked = True
            if os.path.lexists(self._path):
                self._file = _open(self._path)
        known = self._new.get(key)
        return self._file.find(key) if known is None and self._file is not None else known

    def remember(self, key: bytes, tokens: int) -> None:
        """Note a count."""
        self._new[key] = tokens

    def save(self) -> None:
        """Keep what was noted; where that is not possible, it is counted again the next time."""
        if self._new:
            self._file = self._file or _open(self._path)
            self._file.add(self._new)
            self._new.clear()


class CachingTokenizer:
    """Counts as another tokenizer does, and only what was not counted before."""

    def __init__(self, tokenizer: Tokenizer, counts: CountCache) -> None:
        self.method = tokenizer.method
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._counts = counts

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted, as far as they were not counted before."""
        self._tokenizer.prepare([text for text in texts if self._counts.find(self._key(text)) is None])

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        key = self._key(text)
        known = self._counts.find(key)
        if known is None:
            known = self._tokenizer.count(text)
            self._counts.remember(key, known)
        return known

    def _key(self, text: str) -> bytes:
        """Name a text as this tokenizer counts it; no name of a tokenizer has a zero byte in it."""
        return sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def with_cache(chosen: TokenizerChoice, counts: CountCache) -> TokenizerChoice:
    """Let a way to count remember; of one that scales another, it is the other's counts that are kept."""
    tokenizer = chosen.tokenizer
    if isinstance(tokenizer, ScaledTokenizer):
        return chosen._replace(tokenizer=tokenizer.over(CachingTokenizer(tokenizer.counter, counts)))
    return chosen._replace(tokenizer=CachingTokenizer(tokenizer, counts))


def _open(path: str) -> CountFile:
    opened: CountFile = load("scopes.index.token_counts:CountFile")(path)
    return opened
