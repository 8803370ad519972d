"""Where the memory is kept: a commit chain on a ref of its own, whose tree has one file an entry.

    entries/<month>/<time>-<id>.json    an entry; the names put the newest last, so that not all have to be read
    entries/<id>.json                   an entry of another program
    covered/<uuid>/<branch>             up to where a branch has been looked at, also once its entry is pruned

Plain git reads and merges it; an operation moves the ref, so that undo brings everything back.
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
from scopes.memory.entry import Entry, decode_entry, encode_entry
from scopes.model.path_encoding import encode_component
from scopes.result import Note
from scopes.store.refs import MEMORY
from scopes.store.repository import Repository, read_commit, read_tree
from scopes.store.trees import Change, read_blob, walk_blobs

_ENTRIES, _COVERED = "entries/", "covered/"


class Memory:
    """What is remembered at one moment; entries are only read as far as somebody asks for them.

    `notes` name the files met so far that are no entries, which somebody else has put there: they are left alone.
    """

    def __init__(self, repository: Repository) -> None:
        """Look up where the memory stands; there may be none.

        Raises:
            NotFound: an object is missing.
        """
        self._repository = repository
        value = repository.find_ref(MEMORY)
        self.commit = None if value is None else Oid(value)
        self._top = {} if self.commit is None else read_tree(repository, read_commit(repository, self.commit).tree)
        self._damaged: list[str] = []

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry, newest first."""
        return tuple(self.walk())

    def walk(self, start: str = "") -> Iterator[Entry]:
        """Read entries one by one, newest first; only those whose id begins so."""
        below = self._list(_ENTRIES)
        flat = [(path, oid) for path, oid, is_tree in below if not is_tree]
        dated = (pair for path, oid, is_tree in reversed(below) if is_tree for pair in self._list_month(path, oid))
        undated = sorted(self._read(flat, start), key=_age, reverse=True)
        return merge(undated, self._read(dated, start), key=_age, reverse=True)

    def walk_covered(self) -> Iterator[tuple[str, Oid]]:
        """Yield the commits up to which branches are covered, each with its conversation's uuid."""
        top = self._top.get(_COVERED.rstrip("/"))
        for path, oid in walk_blobs(self._repository, top.oid, _COVERED) if top is not None and top.is_tree else ():
            tip = read_blob(self._repository, oid).decode("ascii", "replace").strip()
            if is_oid(tip):
                yield path.split("/")[1], Oid(tip)

    def choose(self, text: str) -> Entry:
        """Resolve an entry by its id or a unique start of it.

        Raises:
            NotFound, Ambiguous: none or several begin so.
        """
        found = list(self.walk(text)) if text else []
        if not found:
            raise NotFound(f"there is no entry {text!a} in the memory", hint="list them: scopes memory list")
        if len(found) > 1:
            several = ", ".join(entry.id[:8] for entry in found[:8])
            raise Ambiguous(f"{text!a} fits several: {several}", hint="type a few more letters")
        return found[0]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say which files are no entries."""
        if not self._damaged:
            return ()
        named = ", ".join(self._damaged[:3]) + (", ..." if len(self._damaged) > 3 else "")
        number = "1 file is no entry" if len(self._damaged) == 1 else f"{len(self._damaged)} files are no entries"
        return (Note(f"in the memory {number}, left alone: {named}", f"see: git show {MEMORY}:{self._damaged[0]}"),)

    def _list(self, directory: str) -> list[tuple[str, Oid, bool]]:
        top = self._top.get(directory.rstrip("/"))
        found = read_tree(self._repository, top.oid).values() if top is not None and top.is_tree else ()
        return sorted((f"{directory}{entry.name}", entry.oid, entry.is_tree) for entry in found)

    def _list_month(self, path: str, oid: Oid) -> Iterator[tuple[str, Oid]]:
        files = [entry for entry in read_tree(self._repository, oid).values() if not entry.is_tree]
        return ((f"{path}/{e.name}", e.oid) for e in sorted(files, key=lambda e: e.name, reverse=True))

    def _read(self, files: Iterable[tuple[str, Oid]], start: str) -> Iterator[Entry]:
        for path, oid in files:
            if start and not path.rpartition("/")[2].rpartition("-")[2].startswith(start):
                continue
            entry = _find_entry(path, read_blob(self._repository, oid))
            if entry is not None:
                yield entry
            elif path not in self._damaged:
                self._damaged.append(path)


def _age(entry: Entry) -> tuple[int, str]:
    return entry.age_key


def _find_entry(path: str, data: bytes) -> Entry | None:
    """Read an entry; None for what is none, or has the id or the time of another file."""
    try:
        entry = decode_entry(data)
    except Corrupt:
        return None
    return entry if path in _places(entry) else None


def change_memory(repository: Repository, memory: Memory, changes: Mapping[str, Change], what: str) -> OperationId:
    """Write the next state of the memory and move its ref; call it inside `writing`."""
    commit = write_metadata(repository, memory.commit, changes, what)
    tx = RefTransaction(repository)
    tx.move_ref(MEMORY, memory.commit, commit)
    return tx.commit("memory", what).id


def entry_change(entry: Entry) -> dict[str, Change]:
    """Set an entry."""
    flat, dated = _places(entry)
    return {flat: None, dated: encode_entry(entry)}


def removal(entry: Entry) -> dict[str, Change]:
    """Remove an entry."""
    return dict.fromkeys(_places(entry))


def _places(entry: Entry) -> tuple[str, str]:
    """Return where other programs put an entry, and where we do: there the names are in the order of time."""
    nanoseconds = entry.age_key[0]
    moment = format_seconds(nanoseconds // 10**9)
    time = f"{moment[8:19].replace(':', '')}.{nanoseconds % 10**9:09}"
    return f"{_ENTRIES}{entry.id}.json", f"{_ENTRIES}{moment[:7]}/{time}-{entry.id}.json"


def covered_change(uuid: str, branch: BranchName, tip: Oid) -> dict[str, Change]:
    """Set the commit up to which a branch is covered."""
    return {f"{_COVERED}{uuid}/{encode_component(branch)}": f"{tip}\n".encode()}
