"""Cache of built contexts: compressed JSON files, kept for ten minutes (S4-42), within a limit on their total size.

    entry = SHA-256 of the compressed data | compressed JSON

An entry is used only if its key and the signatures of all files in it still match. A damaged or foreign entry is a miss
and sets `damaged`; an entry that cannot be written is ignored. The mark of the fence is not part of an entry.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from hashlib import sha256
from typing import Any

from scopes.context.decision_lines import ContextDecision
from scopes.context.project_files import SkippedFile
from scopes.context.request import CACHE_SECONDS
from scopes.context.result import Context, ContextFile, ContextLane, ContextMessage, Explained, UnfencedContext
from scopes.regular_file import write_private_file
from scopes.result import Note
from scopes.store.repository import Prunes

_VERSION = 9
_MAX_BYTES = 64 << 20  # of all entries
_DIGEST_BYTES = 32
_ROW_TYPES: Mapping[str, Any] = {
    "messages": ContextMessage, "files_embedded": ContextFile, "files_skipped": SkippedFile, "explained": Explained,
    "notes": Note, "warnings": str, "decisions": ContextDecision,
}  # fmt: skip

Signatures = list[tuple[str, int, int]]
"""Path, size and modification time (ns) of files; -1 and -1 for a missing file."""


class ContextCache:
    """Contexts in the cache directory, each valid for a number of seconds."""

    def __init__(self, directory: str, seconds: int = CACHE_SECONDS) -> None:
        self._directory = os.path.join(directory, "contexts")
        self._seconds = seconds
        self.damaged = False

    def find(self, key: str) -> UnfencedContext | None:
        """Return a context; None if it is missing, too old, damaged, or one of its files has changed."""
        path = self._path(key)
        try:
            if time.time() - os.stat(path).st_mtime >= self._seconds:
                return None
            with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
                data = file.read(_MAX_BYTES)
        except OSError:
            return None
        if sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
            self.damaged = True
            return None
        try:
            document = json.loads(zlib.decompress(data[_DIGEST_BYTES:]))
            signatures = [tuple(row) for row in document["signatures"]]
            if document["key"] != key or signatures != stat_files(path for path, _, _ in signatures):
                return None
            context = Context(**{name: _restore(name, value) for name, value in document["context"].items()})
            return UnfencedContext(context, str(document["header"]), str(document["body"]))
        except (zlib.error, ValueError, TypeError, KeyError, AttributeError):  # written by another version
            self.damaged = True
            return None

    def add(self, key: str, unfenced: UnfencedContext, signatures: Signatures, prunes: Prunes) -> None:
        """Write a context, and delete old entries if there are too many.

        It is deleted again if objects were deleted since it was begun: a purge, which deletes them before the cache,
        may have removed something of it.
        """
        stored = {field.name: getattr(unfenced.context, field.name) for field in fields(unfenced.context)}
        document = {"key": key, "signatures": signatures, "context": stored}
        document |= {"header": unfenced.header, "body": unfenced.body}
        data = zlib.compress(json.dumps(document).encode(), 6)
        if self._seconds:
            with suppress(OSError):
                write_private_file(self._path(key), sha256(data).digest() + data)
                if prunes.have_run():
                    os.unlink(self._path(key))
                self._prune()

    def _path(self, key: str) -> str:
        return os.path.join(self._directory, f"{key}.z")

    def _prune(self) -> None:
        """Delete expired entries, and the oldest ones beyond the size limit."""
        with os.scandir(self._directory) as entries:
            newest_first = sorted(((e.stat().st_mtime, e.stat().st_size, e.path) for e in entries), reverse=True)
        total = 0
        for modified, size, path in newest_first:
            total += size
            if total > _MAX_BYTES or time.time() - modified > self._seconds:
                os.unlink(path)


def key_of(**parts: object) -> str:
    """Return a hash of everything that a context depends on."""
    return sha256(json.dumps({"version": _VERSION, **parts}, sort_keys=True).encode()).hexdigest()


def stat_files(paths: Iterable[str]) -> Signatures:
    """Return the signatures of files, which differ after a change."""
    signatures: Signatures = []
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            signatures.append((path, -1, -1))
        else:
            signatures.append((path, status.st_size, status.st_mtime_ns))
    return signatures


def _restore(name: str, value: Any) -> Any:
    """Turn the JSON value of a field back into rows of its type."""
    row_type = _ROW_TYPES.get(name)
    if row_type is None:
        return value
    if row_type is ContextMessage:
        messages = (ContextMessage(*row) for row in value)
        return tuple(each._replace(lanes=tuple(ContextLane(*lane) for lane in each.lanes)) for each in messages)
    return tuple(row_type(*row) if row_type is not str else str(row) for row in value)
