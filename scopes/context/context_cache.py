"""Contexts that were made before, by what they were made from: compressed, for ten minutes (S4-42), and not too many.

    entry = SHA-256 of what follows | the context as JSON, compressed

A damaged or foreign entry is a miss, which `damaged` tells; a disk that is full costs only the time of the next one.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from hashlib import sha256
from typing import Any

from scopes.context.files import SkippedFile
from scopes.context.result import Context, ContextFile, ContextMessage, Explained
from scopes.result import Note
from scopes.tokens.atomic_write import write_file

_VERSION = 2
KEPT_SECONDS = 600
_LARGEST_BYTES = 64 << 20
_DIGEST_BYTES = 32
_ROWS: Mapping[str, Any] = {
    "messages": ContextMessage, "files_embedded": ContextFile, "files_skipped": SkippedFile, "explained": Explained,
    "notes": Note, "warnings": str,
}  # fmt: skip

Signatures = list[tuple[str, int, int]]
"""Path, size and time of change of every file that was looked at; a file that is not there has -1 twice."""


class ContextCache:
    """The contexts in our cache directory, each for so many seconds."""

    def __init__(self, directory: str, seconds: int = KEPT_SECONDS) -> None:
        self._directory = os.path.join(directory, "contexts")
        self._seconds = seconds
        self.damaged = False

    def find(self, key: str) -> Context | None:
        """Return a context, unless it is too old, damaged, or one of its files has changed since."""
        path = self._path(key)
        try:
            if time.time() - os.stat(path).st_mtime >= self._seconds:
                return None
            with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
                data = file.read(_LARGEST_BYTES)
        except OSError:
            return None
        if sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:  # what follows is what was written
            self.damaged = True
            return None
        try:
            document = json.loads(zlib.decompress(data[_DIGEST_BYTES:]))
            signatures = [tuple(row) for row in document["signatures"]]
            if document["key"] != key or signatures != stat_files(path for path, _, _ in signatures):
                return None
            return Context(**{name: _restored(name, value) for name, value in document["context"].items()})
        except (zlib.error, ValueError, TypeError, KeyError, AttributeError):  # written by another version
            self.damaged = True
            return None

    def keep(self, key: str, context: Context, signatures: Signatures) -> None:
        """Keep a context, and let go of the oldest where there are too many."""
        stored = {field.name: getattr(context, field.name) for field in fields(context)}
        document = {"key": key, "signatures": signatures, "context": stored}
        data = zlib.compress(json.dumps(document).encode(), 6)
        if self._seconds:
            with suppress(OSError):
                write_file(self._path(key), sha256(data).digest() + data)
                self._shrink()

    def _path(self, key: str) -> str:
        return os.path.join(self._directory, f"{key}.z")

    def _shrink(self) -> None:
        with os.scandir(self._directory) as entries:
            found = sorted(((e.stat().st_mtime, e.stat().st_size, e.path) for e in entries), reverse=True)
        total = 0
        for changed, size, path in found:
            total += size
            if total > _LARGEST_BYTES or time.time() - changed > self._seconds:
                os.unlink(path)


def key_of(**parts: object) -> str:
    """Name a context by all that it depends on."""
    return sha256(json.dumps({"version": _VERSION, **parts}, sort_keys=True).encode()).hexdigest()


def stat_files(paths: Any) -> Signatures:
    """Describe files so that a change shows."""
    found: Signatures = []
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            found.append((path, -1, -1))
        else:
            found.append((path, status.st_size, status.st_mtime_ns))
    return found


def _restored(name: str, value: Any) -> Any:
    kind = _ROWS.get(name)
    if kind is None:
        return value
    return tuple(kind(*row) if kind is not str else str(row) for row in value)
