"""Answer an import that would find nothing new from the cache, without reading the sources.

The result of such an import is kept with what it depends on: the arguments, the size, times and inode of each source,
the refs of the imported sources, and those of each conversation that the sources are in. If all of these are the same
again, so is the result. If only a conversation is another one, its row of the result is counted again, and if it was
deleted, the sources are read. As in git's index, a file that was written shortly before it was read is not trusted: a
later write may leave its time unchanged. An import that finds something new keeps the result of the next one, if that
is certain, so that no import only reads what the one before it has read.
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
from scopes.history.sources import SOURCES, TRACKING
from scopes.ids import ConversationId
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
from scopes.importers.unchanged_sources import count_again
from scopes.importers.work_queue import QueuedSource
from scopes.regular_file import read_private_file, write_private_file
from scopes.result import Note
from scopes.store.refs import HEADS, META, conversation_of
from scopes.store.repository import Repository

_VERSION = 2
_MIN_BYTES = 1 << 20  # of sources; fewer are read sooner than all refs of a large store
_SECOND = 1_000_000_000  # nanoseconds
_RACY_NANOSECONDS = 2 * _SECOND  # the coarsest time of a file system is FAT's
_RACY_FRACTION_NANOSECONDS = _SECOND // 10  # those with fractions of a second have ten milliseconds or less
_MAX_ENTRIES = 8
_DIGEST_BYTES = 32
_SHORT_DIGEST = 32
_ROWS: Mapping[str, Any] = {"sources": SourceImported, "conversations": ConversationImported, "skipped": Skipped}


class StoreState(NamedTuple):
    """The refs of a store at one moment.

    digest: changes whenever a ref changes
    """

    digest: str
    refs: Mapping[str, str]

    def digest_of_sources(self) -> str:
        """Return a digest of what imports have recorded: the sources, and where their branches were."""
        return _hash([item for item in self.refs.items() if item[0].startswith((SOURCES, TRACKING))])

    def digest_each(self, conversations: Iterable[ConversationId]) -> dict[str, str | None]:
        """Return a digest of the branches and the metadata of each conversation; None if it does not exist."""
        found: dict[str, list[tuple[str, str]]] = {conversation: [] for conversation in conversations}
        for ref, value in self.refs.items():
            if ref.startswith((HEADS, META)) and (conversation := conversation_of(ref)) in found:
                found[conversation].append((ref, value))
        return {conversation: _hash(refs)[:_SHORT_DIGEST] if refs else None for conversation, refs in found.items()}


class KnownResult(NamedTuple):
    """The result of an import from the cache; `refreshed` if a conversation has changed since it was kept."""

    result: Imported
    refreshed: bool


class RepeatedImport(NamedTuple):
    """The cache entry of one import.

    path: its file
    inputs: a hash of all that it depends on, except the store
    is_trusted: whether the times of its sources can be trusted
    """

    path: str
    inputs: str
    is_trusted: bool

    def find(self, repository: Repository, state: StoreState) -> KnownResult | None:
        """Return the result of the same import into the store in this state; None if it is not known.

        The first prompts of conversations that have changed since it was kept are missing in it.
        """
        data = read_private_file(self.path)
        if data is None or sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
            return None
        try:
            document = json.loads(zlib.decompress(data[_DIGEST_BYTES:]))
            if document["inputs"] != self.inputs:
                return None
            result, before = _restore(document["result"]), document["state"]
        except (zlib.error, ValueError, TypeError, KeyError):  # written by another version
            return None
        if before["digest"] == state.digest:
            return KnownResult(result, False)
        if result.stay_deleted or before["sources"] != state.digest_of_sources():
            return None
        rows = _refresh(repository, state, result.conversations, before["conversations"])
        return None if rows is None else KnownResult(replace(result, conversations=rows), True)

    def save(self, result: Imported, state: StoreState) -> None:
        """Keep the result for this state of the store, if nothing is new in it and no file could not be read."""
        if not self.is_trusted or result.operation is not None or any(found.error for found in result.skipped):
            return
        stored = {field.name: getattr(result, field.name) for field in fields(result)}
        stored |= {name: [asdict(row) for row in stored[name]] for name in _ROWS}
        depends = {
            "digest": state.digest,
            "sources": state.digest_of_sources(),
            "conversations": state.digest_each(row.id for row in result.conversations),
        }
        document = {"inputs": self.inputs, "state": depends, "result": stored}
        data = zlib.compress(json.dumps(document).encode("utf-8", "surrogatepass"), 1)
        with suppress(OSError):
            write_private_file(self.path, sha256(data).digest() + data)
            _prune(os.path.dirname(self.path))


def read_store_state(repository: Repository) -> StoreState:
    """Return the refs of a store."""
    files, refs = repository.read_refs("refs/")
    return StoreState(files.state_of(("refs/",)), refs)


def _refresh(
    repository: Repository,
    state: StoreState,
    rows: Sequence[ConversationImported],
    before: Mapping[str, str | None],
) -> tuple[ConversationImported, ...] | None:
    """Return the rows of an import as they are now; None if a conversation is gone, or was imported into again."""
    now = state.digest_each(row.id for row in rows)
    fresh = []
    for row in rows:
        new = row if now[row.id] == before.get(row.id) else count_again(repository, row)
        if new is None:
            return None
        fresh.append(new)
    return tuple(fresh)


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


def repeat_of(
    result: Imported, notes: Iterable[Note | GroupedNote], keys: Mapping[ConversationId, tuple[str, ...]]
) -> Imported:
    """Return the result of the same import at once after the one with `result`.

    `notes` are those that come again, `keys` those of the sources of each conversation.
    """
    shown, details = group_notes(notes)
    return replace(
        result,
        sources=tuple(replace(source, new=False) for source in result.sources),
        conversations=tuple(
            replace(found, new_messages=0, source=None, keys=keys[found.id]) for found in result.conversations
        ),
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
    is_trusted = True
    for source, path in [(each, path) for each in sources for path in each.signed_files()]:
        try:
            status = os.stat(path)
        except OSError:
            return None
        times = status.st_mtime_ns, status.st_ctime_ns
        is_trusted = is_trusted and not any(_is_racy(time, now) for time in times)
        signatures.append((path, source.size, source.named, status.st_dev, status.st_ino, status.st_size, *times))
    inputs = [_VERSION, scopes.__version__, PARSER_VERSION, view, [asdict(found) for found in skipped], notes]
    name = _hash([view, sorted(source.path for source in sources)[:1], len(sources)])[:16]
    path = os.path.join(directory, "imports", f"{name}.z")
    return RepeatedImport(path, _hash([inputs, signatures]), is_trusted)


def _is_racy(time: int, now: int) -> bool:
    """Return True if a file may be written again without another time, by the time that it has."""
    return time >= now - (_RACY_FRACTION_NANOSECONDS if time % _SECOND else _RACY_NANOSECONDS)


def _hash(value: object) -> str:
    return sha256(json.dumps(value).encode("ascii")).hexdigest()


def _restore(stored: dict[str, Any]) -> Imported:
    skipped = [
        Skipped(**{**row, "became": None if row["became"] is None else _restore_source(row["became"])})
        for row in stored["skipped"]
    ]
    return Imported(
        **{
            **stored,
            "sources": tuple(map(_restore_source, stored["sources"])),
            "conversations": tuple(
                ConversationImported(**{**row, "keys": tuple(row["keys"])}) for row in stored["conversations"]
            ),
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
