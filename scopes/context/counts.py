"""Counts that were made before, so that the ranks of an encoding need not be loaded to make them again.

    record = first 16 bytes of the SHA-256 of the text | count (4 bytes) | CRC-32 of both (4 bytes)

One file for each way to count, only ever appended to; what is torn or damaged is as if it had never been counted.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import Protocol
from zlib import crc32

from scopes.context.tokens import Tokenizer

_RECORD = struct.Struct(">16sI")
_CHECK = struct.Struct(">I")
_SIZE = _RECORD.size + _CHECK.size
_LARGEST_BYTES = 16 << 20


class Counts(Protocol):
    """A memory of counts, by the digest of a text."""

    def find(self, digest: bytes) -> int | None:
        """Return a text's count, where it is known."""

    def remember(self, digest: bytes, tokens: int) -> None:
        """Note a text's count."""

    def save(self) -> None:
        """Keep what was noted, as far as that is possible."""


class FileCounts:
    """Counts in a file of our cache, read at the first question."""

    def __init__(self, directory: str, name: str) -> None:
        self._path = os.path.join(directory, "counts", name.replace("*", "-"))
        self._known: dict[bytes, int] | None = None
        self._new: list[bytes] = []

    def find(self, digest: bytes) -> int | None:
        """Return a text's count, where it is known."""
        if self._known is None:
            self._known = self._read()
        return self._known.get(digest)

    def remember(self, digest: bytes, tokens: int) -> None:
        """Note a text's count."""
        record = _RECORD.pack(digest, tokens)
        self._new.append(record + _CHECK.pack(crc32(record)))
        if self._known is not None:
            self._known[digest] = tokens

    def save(self) -> None:
        """Append what is new in one write; a file that has grown too large begins anew, a full disk does no harm."""
        if not self._new:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            fresh = os.path.exists(self._path) and os.path.getsize(self._path) > _LARGEST_BYTES
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_TRUNC if fresh else 0)
            with open(os.open(self._path, flags, 0o600), "wb", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                file.write(bytes(-size % _SIZE) + b"".join(self._new))
        self._new.clear()

    def _read(self) -> dict[bytes, int]:
        try:
            with open(os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
                data = file.read(2 * _LARGEST_BYTES)
        except OSError:
            return {}
        known = {}
        for start in range(0, len(data) - _SIZE + 1, _SIZE):
            record = data[start : start + _RECORD.size]
            if crc32(record) == _CHECK.unpack_from(data, start + _RECORD.size)[0]:
                digest, tokens = _RECORD.unpack(record)
                known[digest] = tokens
        return known


class RememberingTokenizer:
    """Counts as another tokenizer does, and only what was not counted before."""

    def __init__(self, tokenizer: Tokenizer, counts: Counts) -> None:
        self.method = tokenizer.method
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._counts = counts

    def prepare(self, texts: Iterable[str]) -> None:
        """Announce texts that will be counted, as far as they were not counted before."""
        self._tokenizer.prepare(text for text in texts if self._counts.find(_digest(text)) is None)

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        digest = _digest(text)
        known = self._counts.find(digest)
        if known is None:
            known = self._tokenizer.count(text)
            self._counts.remember(digest, known)
        return known


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
