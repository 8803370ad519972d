"""Answer an import that would find nothing new from the cache, without reading the sources.

The result of such an import is kept with what it depends on: the arguments, all refs of the store, and size, times and
inode of each source. If all of these are the same again, so is the result. As in git's index, a file that was written
shortly before it was read is not trusted: a later write may leave its time unchanged. An import that finds something
new keeps the result of the next one, if that is certain, so that no import only reads what the one before it has read.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from hashlib import sha256
from typing import Any, NamedTuple

import scopes
from scopes.clock import wall_nanoseconds
from scopes.importers.formats.base import Source
from scopes.importers.identity import PARSER_VERSION, source_key_of
from scopes.importers.results import (
    ConversationImported,
    GroupedNote,
    Imported,
    Skipped,
    SourceImported,
    group_notes,
)
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.work_queue import QueuedSource
from scopes.result import Note
from scopes.store.repository import Repository
from scopes.tokens.cache_files import read_cache_file, write_file

_VERSION = 1
_MIN_BYTES = 1 << 20  # of sources; fewer are read sooner than all refs of a large store
_RACY_NANOSECONDS = 2_000_000_000  # the coarsest time of a file system is FAT's
_MAX_ENTRIES = 8
_DIGEST_BYTES = 32
_ROWS: Mapping[str, Any] = {"sources": SourceImported, "conversations": ConversationImported, "skipped": Skipped}


class RepeatedImport(NamedTuple):
    """The cache entry of one import.

    path: its file
    inputs: a hash of all that it depends on, except the refs of the store
    is_trusted: whether the times of its sources can be trusted
    """

    path: str
    inputs: str
    is_trusted: bool

    def find(self, state: str) -> Imported | None:
        """Return the result of the same import into a store whose refs have this state; None if it is not known."""
        data = read_cache_file(self.path)
        if data is None or sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
            return None
        try:
            document = json.loads(zlib.decompress(data[_DIGEST_BYTES:]))
            return _restore(document["result"]) if document["key"] == self._key(state) else None
        except (zlib.error, ValueError, TypeError, KeyError):  # written by another version
            return None

    def save(self, result: Imported, state: str) -> None:
        """Keep the result for this state of the refs, if nothing is new in it and no file could not be read."""
        if not self.is_trusted or result.operation is not None or any(found.error for found in result.skipped):
            return
        stored = {field.name: getattr(result, field.name) for field in fields(result)}
        stored |= {name: [asdict(row) for row in stored[name]] for name in _ROWS}
        data = zlib.compress(
            json.dumps({"key": self._key(state), "result": stored}).encode("utf-8", "surrogatepass"), 1
        )
        with suppress(OSError):
            write_file(self.path, sha256(data).digest() + data)
            _prune(os.path.dirname(self.path))

    def _key(self, state: str) -> str:
        return _hash([self.inputs, state])


def state_of_refs(repository: Repository) -> str:
    """Return a digest that changes whenever a ref of a store changes."""
    return repository.read_refs("refs/")[0].state_of(("refs/",))


def is_repeatable(queue: Sequence[QueuedSource]) -> bool:
    """Return True if a second import of a queue surely finds what the first one leaves, and changes nothing.

    That is so for session files that follow the sources that they continue. It is left open for event streams, older
    copies of stored sources, and sessions that name each other as parents.
    """
    keys = {source_key_of(queued.session) for queued in queue}
    for queued in queue:
        if queued.session.is_stream or isinstance(queued.source, StoredCopy):
            return False
        keys.discard(source_key_of(queued.session))
        if not keys.isdisjoint(queued.parent_keys):
            return False
    return True


def repeat_of(result: Imported, notes: Iterable[Note | GroupedNote]) -> Imported:
    """Return the result of the same import at once after the one with `result`; `notes` are those that come again."""
    shown, details = group_notes(notes)
    return replace(
        result,
        sources=tuple(replace(source, new=False) for source in result.sources),
        conversations=tuple(replace(found, new_messages=0, source=None) for found in result.conversations),
        operation=None,
        joined=(),
        notes=shown,
        details=details,
    )


def prepare_repeated(
    directory: str,
    sources: Sequence[Source],
    skipped: Sequence[Skipped],
    notes: Sequence[Note | GroupedNote],
    *,
    view: str,
) -> RepeatedImport | None:
    """Return the cache entry of an import with default options, before it begins; None if it has none.

    `directory` is that of the store's index. `view` is what else the result depends on.
    """
    if sum(source.size for source in sources) < _MIN_BYTES or any(found.error for found in skipped):
        return None
    now = wall_nanoseconds()
    signatures = []
    newest = 0
    for source in sources:
        try:
            status = os.stat(source.path)
        except OSError:
            return None
        times = status.st_mtime_ns, status.st_ctime_ns
        newest = max(newest, *times)
        signatures.append(
            (source.path, source.size, source.named, status.st_dev, status.st_ino, status.st_size, *times)
        )
    inputs = [_VERSION, scopes.__version__, PARSER_VERSION, view, [asdict(found) for found in skipped], notes]
    name = _hash([view, sorted(source.path for source in sources)[:1], len(sources)])[:16]
    path = os.path.join(directory, "imports", f"{name}.z")
    return RepeatedImport(path, _hash([inputs, signatures]), newest < now - _RACY_NANOSECONDS)


def _hash(value: object) -> str:
    return sha256(json.dumps(value).encode("ascii")).hexdigest()


def _restore(stored: dict[str, Any]) -> Imported:
    skipped = [
        Skipped(**{**row, "account": None if row["account"] is None else _restore_source(row["account"])})
        for row in stored["skipped"]
    ]
    return Imported(
        **{
            **stored,
            "sources": tuple(map(_restore_source, stored["sources"])),
            "conversations": tuple(ConversationImported(**row) for row in stored["conversations"]),
            "skipped": tuple(skipped),
            "joined": (),
            "details": tuple(stored["details"]),
            "notes": tuple(Note(*note) for note in stored["notes"]),
        }
    )


def _restore_source(row: dict[str, Any]) -> SourceImported:
    return SourceImported(**{**row, "problems": tuple(row["problems"])})


def _prune(directory: str) -> None:
    """Delete the oldest entries."""
    with os.scandir(directory) as entries:
        newest_first = sorted(((entry.stat().st_mtime_ns, entry.path) for entry in entries), reverse=True)
    for _, path in newest_first[_MAX_ENTRIES:]:
        os.unlink(path)
