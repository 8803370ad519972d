"""Files that an import need not read: their status is that of when they were read last, and so is what became of them.

An entry is a conversation with all files of its sessions. It holds as long as the refs of the conversation and of its
sources are as the import has left them, and all of its files have the size, the times and the inode of then. If any of
this differs, all of them are read. As in git's index, a file that was written shortly before it was read is not
trusted: a later write may leave its time unchanged.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

import scopes
from scopes.clock import wall_nanoseconds
from scopes.history.sources import SOURCES, TRACKING
from scopes.importers.formats.base import Source
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.identity import PARSER_VERSION
from scopes.importers.results import ConversationImported, Imported, Skipped, SourceImported
from scopes.regular_file import read_private_file, write_private_file
from scopes.store.refs import HEADS, META, conversation_of
from scopes.store.repository import Repository

_VERSION: Final = 3
_MIN_BYTES: Final = 1 << 20  # of sources; fewer are read sooner than all refs of a large store
_RACY_NANOSECONDS: Final = 2_000_000_000  # the coarsest time of a file system is FAT's
_MAX_ENTRIES: Final = 20_000

Status: TypeAlias = "list[list[int | str]]"
"""Path, size, times, device and inode of each file of a source."""


class Entry(NamedTuple):
    """A conversation as an import has left it.

    refs: a digest of its refs and those of its sources
    keys: of its sessions
    files: the status of each file that was read for it, by path
    row, sources, copies: what the import would report
    """

    refs: str
    keys: list[str]
    files: dict[str, Status]
    row: dict[str, Any]
    sources: list[dict[str, Any]]
    copies: list[list[str]]


@dataclass(slots=True)
class Unchanged:
    """What an import of unchanged files reports; `paths` are the files."""

    paths: set[str] = field(default_factory=set)
    sources: list[SourceImported] = field(default_factory=list)
    conversations: list[ConversationImported] = field(default_factory=list)
    copies: list[Skipped] = field(default_factory=list)


class StatCache:
    """The entries of one store, and the status of the files that an import was asked for, taken before it reads them.

    directory: that of the store's index
    view: what else the result depends on
    """

    def __init__(self, directory: str, sources: Sequence[Source], *, view: str) -> None:
        self._path = os.path.join(directory, "imported.z")
        self._inputs = [_VERSION, scopes.__version__, PARSER_VERSION, view]
        self._now = wall_nanoseconds()
        self._status = {source.path: status for source in sources if (status := _read_status(source)) is not None}
        self._entries = self._read()

    def find(self, repository: Repository) -> Unchanged:
        """Return the conversations whose files were all asked for, and that hold; all others are to be read."""
        if not self._entries:
            return Unchanged()
        refs = _RefsOf(repository)
        same = {path for path, status in self._status.items()}
        found = {name: each for name, each in self._entries.items() if refs.digest(name, each.keys) == each.refs}
        changed = True
        while changed:  # a file may have several conversations, and a conversation several files
            kept = {
                name: each
                for name, each in found.items()
                if all(path in same and self._status[path] == status for path, status in each.files.items())
            }
            lost = {path for name, each in self._entries.items() if name not in kept for path in each.files}
            changed = len(kept) < len(found) or bool(lost & same)
            found, same = kept, same - lost
        result = Unchanged()
        for each in found.values():
            result.paths |= each.files.keys()
            result.sources += [SourceImported(**{**row, "problems": tuple(row["problems"])}) for row in each.sources]
            result.conversations.append(ConversationImported(**each.row))
            result.copies += [Skipped(path=path, reason=reason) for path, reason in each.copies]
        return result

    def save(
        self,
        repository: Repository,
        result: Imported,
        copies: Mapping[str, tuple[str, str]],
        keys: Mapping[str, str],
    ) -> None:
        """Keep what an import has read, without the files that were written a moment ago.

        copies: the path of the source that a file is a copy of, and the reason why it was left out, by path
        keys: the path of the source of each session
        """
        refs = _RefsOf(repository)
        untrusted = {path for path, status in self._status.items() if self._is_racy(status)}
        untrusted |= {self._file_of(found.path) for found in result.skipped if found.error is not None}
        rows = {source.path: source for source in result.sources}
        added: dict[str, Entry] = {}
        for row in result.conversations:
            paths = {keys[key] for key in row.keys if key in keys}
            own = {path: reason for path, (source, reason) in copies.items() if source in paths}
            files = {self._file_of(path) for path in (*paths, *own)}
            if not row.keys or not files <= self._status.keys() or files & untrusted:
                continue
            added[row.id] = Entry(
                refs.digest(row.id, row.keys),
                list(row.keys),
                {path: self._status[path] for path in sorted(files)},
                asdict(replace(row, new_messages=0, source=None, keys=())),
                [asdict(replace(rows[path], new=False)) for path in sorted(paths) if path in rows],
                [[path, reason] for path, reason in own.items()],
            )
        read = {path for each in added.values() for path in each.files}
        kept = {name: each for name, each in self._entries.items() if name not in added and read.isdisjoint(each.files)}
        self._write({**dict(list(kept.items())[: _MAX_ENTRIES - len(added)]), **added})

    def _file_of(self, path: str) -> str:
        """Return the file of a source: that of a conversation in a collection is the collection."""
        return path if path in self._status else path.rpartition(SEPARATOR)[0] or path

    def _is_racy(self, status: Status) -> bool:
        """Return True if a file may be written again without another time, by the times that it has."""
        return any(int(time) >= self._now - _RACY_NANOSECONDS for row in status for time in row[2:4])

    def _read(self) -> dict[str, Entry]:
        data = read_private_file(self._path)
        try:
            document = {} if data is None else json.loads(zlib.decompress(data))
            if document.get("inputs") == self._inputs:
                return {name: Entry(*entry) for name, entry in document["entries"].items()}
        except (zlib.error, ValueError, TypeError, KeyError):  # damaged, or written by another version
            pass
        return {}

    def _write(self, entries: Mapping[str, Entry]) -> None:
        if entries != self._entries:
            document = json.dumps({"inputs": self._inputs, "entries": entries})
            with suppress(OSError):
                write_private_file(self._path, zlib.compress(document.encode("utf-8", "surrogatepass"), 1))


def is_worth_it(sources: Sequence[Source]) -> bool:
    """Return True if reading the sources takes longer than looking at all refs of a store."""
    return len(sources) > 1 and sum(source.size for source in sources) >= _MIN_BYTES


class _RefsOf:
    """The refs of a store at one moment, by conversation and by source."""

    def __init__(self, repository: Repository) -> None:
        self._of: dict[str, list[tuple[str, str]]] = {}
        for ref, value in sorted(repository.list_refs("refs/").items()):
            name: str | None = None
            if ref.startswith((HEADS, META)):
                name = conversation_of(ref)
            elif ref.startswith((SOURCES, TRACKING)):
                name = ref.removeprefix(SOURCES).removeprefix(TRACKING).partition("/")[0]
            if name is not None:
                self._of.setdefault(name, []).append((ref, value))

    def digest(self, conversation: str, keys: Iterable[str]) -> str:
        """Return a digest of the refs of a conversation and of its sources."""
        found = [self._of.get(name, []) for name in (conversation, *keys)]
        return sha256(json.dumps(found).encode("ascii")).hexdigest()[:32]


def _read_status(source: Source) -> Status | None:
    """Return the status of the files of a source; None if one of them is gone, or the source is no file."""
    found: Status = []
    for path in source.signed_files():
        try:
            status = os.stat(path)
        except OSError:
            return None
        found.append([path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino])
    return found
