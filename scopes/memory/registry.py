"""Where the memory is kept: a commit chain on a ref of its own, whose tree has one file an entry.

    entries/<id>.json              an entry
    covered/<uuid>/<branch>        the commit up to which a branch has been looked at, also once its entry is pruned

Plain git reads and merges it; an operation moves the ref, so that undo brings everything back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scopes.conversation.metadata import write_metadata
from scopes.conversation.operating import perform
from scopes.errors import Ambiguous, Corrupt, NotFound
from scopes.ids import BranchName, Oid, OperationId, is_oid
from scopes.memory.entry import Entry, decode_entry, encode_entry
from scopes.model.keys import encode_component
from scopes.model.operation import RefChange
from scopes.result import Note
from scopes.store.refs import MEMORY
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import Change, read_blob, walk_blobs

_ENTRIES, _COVERED = "entries/", "covered/"


@dataclass(frozen=True, slots=True)
class Memory:
    """Every entry, newest first, and the commits up to which branches are covered, by path.

    `notes` name the files that are no entries, which somebody else has put there: they are left alone.
    """

    commit: Oid | None = None
    entries: tuple[Entry, ...] = ()
    covered: Mapping[str, Oid] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def walk_covered(self) -> Iterator[tuple[str, Oid]]:
        """Yield the commits up to which branches are covered, each with its conversation's uuid."""
        for path, tip in self.covered.items():
            yield path.split("/")[1], tip


def read_memory(repository: Repository) -> Memory:
    """Read the memory; empty where there is none.

    Raises:
        NotFound: an object is missing.
    """
    value = repository.find_ref(MEMORY)
    if value is None:
        return Memory()
    commit = Oid(value)
    entries, covered, damaged = [], {}, []
    for path, oid in walk_blobs(repository, read_commit(repository, commit).tree):
        if path.startswith(_ENTRIES):
            entry = _find_entry(path, read_blob(repository, oid))
            if entry is None:
                damaged.append(path)
            else:
                entries.append(entry)
        elif path.startswith(_COVERED):
            tip = read_blob(repository, oid).decode("ascii", "replace").strip()
            if is_oid(tip):
                covered[path] = Oid(tip)
    entries.sort(key=lambda entry: entry.age_key, reverse=True)
    return Memory(commit, tuple(entries), covered, _notes(damaged))


def _notes(damaged: list[str]) -> tuple[Note, ...]:
    if not damaged:
        return ()
    named = ", ".join(damaged[:3]) + (", ..." if len(damaged) > 3 else "")
    number = "1 file is no entry" if len(damaged) == 1 else f"{len(damaged)} files are no entries"
    return (Note(f"in the memory {number}, left alone: {named}", f"see: git show {MEMORY}:{damaged[0]}"),)


def _find_entry(path: str, data: bytes) -> Entry | None:
    """Read an entry; None for what is none, or has the id of another file."""
    try:
        entry = decode_entry(data)
    except Corrupt:
        return None
    return entry if path == _place(entry) else None


def change_memory(repository: Repository, memory: Memory, changes: Mapping[str, Change], what: str) -> OperationId:
    """Write the next state of the memory and move its ref; call it inside `writing`."""
    commit = write_metadata(repository, memory.commit, changes, what)
    return perform(repository, "memory", what, [RefChange(MEMORY, memory.commit, commit)]).id


def entry_change(entry: Entry) -> dict[str, Change]:
    """Set an entry."""
    return {_place(entry): encode_entry(entry)}


def removal(entry: Entry) -> dict[str, Change]:
    """Remove an entry."""
    return {_place(entry): None}


def _place(entry: Entry) -> str:
    return f"{_ENTRIES}{entry.id}.json"


def covered_change(uuid: str, branch: BranchName, tip: Oid) -> dict[str, Change]:
    """Set the commit up to which a branch is covered."""
    return {f"{_COVERED}{uuid}/{encode_component(branch)}": f"{tip}\n".encode()}


def choose_entry(entries: Iterable[Entry], text: str) -> Entry:
    """Resolve an entry by its id or a unique start of it.

    Raises:
        NotFound, Ambiguous: none or several begin so.
    """
    found = [entry for entry in entries if text and entry.id.startswith(text)]
    if not found:
        raise NotFound(f"there is no entry {text!a} in the memory", hint="list them: scopes memory list")
    if len(found) > 1:
        several = ", ".join(entry.id[:8] for entry in found[:8])
        raise Ambiguous(f"{text!a} fits several: {several}", hint="type a few more letters")
    return found[0]
