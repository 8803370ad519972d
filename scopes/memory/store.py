"""Storage of the memory: a ref of its own, with a tree that has one file for each entry.

    entries/<month>/<time>-<id>.json    an entry; names sort by time, so that the newest are found without reading all
    entries/<id>.json                   an entry of another program
    covered/<uuid>/<branch>             the commit up to which entries cover a branch; it stays when they are pruned

The history can be read and merged with plain git. Every change is an operation, so undo works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from heapq import merge

from scopes.clock import format_seconds
from scopes.errors import Ambiguous, Corrupt, NotFound
from scopes.history.metadata import write_metadata
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, Oid, OperationId, is_oid
from scopes.memory.entry import MemoryEntry, decode_entry, encode_entry
from scopes.model.canonical_json import encode_component
from scopes.result import Note
from scopes.store.objects import BlobChange, read_blob, read_commit, read_tree, walk_blobs
from scopes.store.refs import MEMORY
from scopes.store.repository import Repository

_ENTRIES, _COVERED = "entries/", "covered/"


class Memory:
    """The memory at one commit; entries are read lazily.

    `notes` name the files read so far that are not entries; they are ignored and left in place.
    """

    def __init__(self, repository: Repository) -> None:
        """Read the top tree of the current commit; the memory may be empty.

        Raises:
            NotFound: an object is missing.
        """
        self._repository = repository
        value = repository.find_ref(MEMORY)
        self.commit = None if value is None else Oid(value)
        self._top = {} if self.commit is None else read_tree(repository, read_commit(repository, self.commit).tree)
        self._not_entries: list[str] = []

    @cached_property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """Every entry, newest first."""
        return tuple(self.walk())

    def walk(self, prefix: str = "") -> Iterator[MemoryEntry]:
        """Yield entries, newest first; only those whose id starts with `prefix`."""
        children = self._list(_ENTRIES)
        flat = [(path, oid) for path, oid, is_tree in children if not is_tree]
        dated = (pair for path, oid, is_tree in reversed(children) if is_tree for pair in self._list_month(path, oid))
        undated = sorted(self._read(flat, prefix), key=_age, reverse=True)
        return merge(undated, self._read(dated, prefix), key=_age, reverse=True)

    def walk_covered(self) -> Iterator[tuple[str, Oid]]:
        """Yield (conversation uuid, commit) for each branch that entries cover up to that commit."""
        top = self._top.get(_COVERED.rstrip("/"))
        for path, oid in walk_blobs(self._repository, top.oid, _COVERED) if top is not None and top.is_tree else ():
            tip = read_blob(self._repository, oid).decode("ascii", "replace").strip()
            if is_oid(tip):
                yield path.split("/")[1], Oid(tip)

    def choose(self, prefix: str) -> MemoryEntry:
        """Return the entry whose id is or starts with `prefix`.

        Raises:
            NotFound, Ambiguous: there is no such entry, or several.
        """
        found = list(self.walk(prefix)) if prefix else []
        if not found:
            raise NotFound(f"there is no entry {prefix!a} in the memory", hint="list them: scopes memory list")
        if len(found) > 1:
            matching = ", ".join(entry.id[:8] for entry in found[:8])
            raise Ambiguous(f"{prefix!a} matches several entries: {matching}", hint="type a few more letters")
        return found[0]

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note that names the files that are not entries."""
        if not self._not_entries:
            return ()
        named = ", ".join(self._not_entries[:3]) + (", ..." if len(self._not_entries) > 3 else "")
        count = len(self._not_entries)
        what = "1 file is not an entry and was" if count == 1 else f"{count} files are not entries and were"
        first = f"see: git show {MEMORY}:{self._not_entries[0]}"
        return (Note(f"in the memory, {what} ignored: {named}", first),)

    def _list(self, directory: str) -> list[tuple[str, Oid, bool]]:
        top = self._top.get(directory.rstrip("/"))
        found = read_tree(self._repository, top.oid).values() if top is not None and top.is_tree else ()
        return sorted((f"{directory}{entry.name}", entry.oid, entry.is_tree) for entry in found)

    def _list_month(self, path: str, oid: Oid) -> Iterator[tuple[str, Oid]]:
        files = [entry for entry in read_tree(self._repository, oid).values() if not entry.is_tree]
        return ((f"{path}/{e.name}", e.oid) for e in sorted(files, key=lambda e: e.name, reverse=True))

    def _read(self, files: Iterable[tuple[str, Oid]], prefix: str) -> Iterator[MemoryEntry]:
        for path, oid in files:
            if prefix and not path.rpartition("/")[2].rpartition("-")[2].startswith(prefix):
                continue
            entry = _find_entry(path, read_blob(self._repository, oid))
            if entry is not None:
                yield entry
            elif path not in self._not_entries:
                self._not_entries.append(path)


def _age(entry: MemoryEntry) -> tuple[int, str]:
    return entry.age_key


def _find_entry(path: str, data: bytes) -> MemoryEntry | None:
    """Decode an entry; None if it is damaged, or its id or time does not belong to its path."""
    try:
        entry = decode_entry(data)
    except Corrupt:
        return None
    return entry if path in _paths(entry) else None


def change_memory(
    repository: Repository, memory: Memory, changes: Mapping[str, BlobChange], summary: str
) -> OperationId:
    """Commit changes of the memory and record the operation; requires `exclusive_write`."""
    commit = write_metadata(repository, memory.commit, changes, summary)
    transaction = RefTransaction(repository)
    transaction.move_ref(MEMORY, memory.commit, commit)
    return transaction.commit("memory", summary).id


def entry_change(entry: MemoryEntry) -> dict[str, BlobChange]:
    """Return the change that stores an entry."""
    flat, dated = _paths(entry)
    return {flat: None, dated: encode_entry(entry)}


def removal(entry: MemoryEntry) -> dict[str, BlobChange]:
    """Return the change that deletes an entry."""
    return dict.fromkeys(_paths(entry))


def _paths(entry: MemoryEntry) -> tuple[str, str]:
    """Return the path that other programs use for an entry, and ours, whose names sort by time."""
    nanoseconds = entry.age_key[0]
    moment = format_seconds(nanoseconds // 10**9)
    time = f"{moment[8:19].replace(':', '')}.{nanoseconds % 10**9:09}"
    return f"{_ENTRIES}{entry.id}.json", f"{_ENTRIES}{moment[:7]}/{time}-{entry.id}.json"


def covered_change(uuid: str, branch: BranchName, tip: Oid) -> dict[str, BlobChange]:
    """Return the change that marks a branch as covered up to a commit."""
    return {f"{_COVERED}{uuid}/{encode_component(branch)}": f"{tip}\n".encode()}
