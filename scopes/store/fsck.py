"""Find damage: check pack files, every reachable object, and every ref against operation log and reflog.

Nothing is repaired. libgit2 does not verify objects from packs, so all bytes are hashed again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from scopes.clock import seconds_of
from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.store import refs
from scopes.store.objects import COMMIT, TAG, TREE, parse_commit, parse_tree
from scopes.store.operation_log import walk_operations
from scopes.store.recovery import list_leftovers
from scopes.store.reflog import NULL_OID, list_logged_refs, walk_moves
from scopes.store.repository import Repository

_BLOCK_BYTES = 1 << 20
_CHECKSUM_BYTES = 20
_LOGGED = (refs.HEADS, refs.META, refs.TRASH, refs.OPERATIONS)
_CURES = {
    ".pack": "restore the file from a backup",
    ".idx": "rebuild it: git index-pack",
    "commit-graph": "write it again: scopes gc",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: `severity` is error or warning; `where` is a ref, an object or a file of the store."""

    severity: str
    where: str
    problem: str
    cure: str | None = None


def walk_pack_defects(repository: Repository) -> Iterator[Finding]:
    """Check every pack, its index and the commit graph against the checksum at the end of the file."""
    for path in _list_files_with_checksum(os.path.join(repository.path, "objects")):
        where = os.path.relpath(path, repository.path)
        try:
            intact = ends_with_own_hash(path)
        except OSError as error:
            yield Finding("error", where, f"cannot be read: {os.strerror(error.errno or 0)}")
            continue
        if not intact:
            cure = next(cure for suffix, cure in _CURES.items() if path.endswith(suffix))
            yield Finding("error", where, "its checksum does not match", cure)


def _list_files_with_checksum(directory: str) -> list[str]:
    packs = os.path.join(directory, "pack")
    found = [os.path.join(packs, name) for name in sorted(os.listdir(packs))] if os.path.isdir(packs) else []
    graph = os.path.join(directory, "info", "commit-graph")
    return [path for path in found if path.endswith((".pack", ".idx"))] + [graph] * os.path.isfile(graph)


def ends_with_own_hash(path: str) -> bool:
    """Return True if a file ends with the SHA-1 of all bytes before, as packs, indexes and commit graphs do.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha1(usedforsecurity=False)
    left = os.path.getsize(path) - _CHECKSUM_BYTES
    with open(path, "rb") as file:
        while left > 0:
            block = file.read(min(left, _BLOCK_BYTES))
            if not block:
                return False
            digest.update(block)
            left -= len(block)
        return file.read() == digest.digest()


def walk_object_defects(repository: Repository, tips: dict[str, Oid]) -> Iterator[Finding]:
    """Read and hash every object reachable from the refs; `tips` maps refs to commits."""
    seen: set[Oid] = set()
    for ref, tip in tips.items():
        stack = [tip]
        while stack:
            oid = stack.pop()
            if oid in seen:
                continue
            seen.add(oid)
            try:
                kind, data = repository.read(oid)
                below = _references(oid, kind, data)
            except ScopesError as error:
                yield Finding("error", f"{_shown(ref)}: {oid}", error.message, "restore it from a backup or a clone")
                continue
            if not is_hash_of(oid, kind, data):
                yield Finding("error", f"{_shown(ref)}: {oid}", "its content does not match its id")
            stack.extend(below)


def is_hash_of(oid: Oid, kind: str, data: bytes) -> bool:
    """Return True if an id is the hash of an object's kind and data."""
    digest = hashlib.sha1(f"{kind} {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest() == oid


def _references(oid: Oid, kind: str, data: bytes) -> list[Oid]:
    if kind == COMMIT:
        commit = parse_commit(oid, data)
        return [commit.tree, *commit.parents]
    if kind == TAG:
        return [Oid(data[7:47].decode("ascii", "replace"))]
    return [entry.oid for entry in parse_tree(data).values()] if kind == TREE else []


def walk_ref_defects(repository: Repository, values: dict[str, str]) -> Iterator[Finding]:
    """Compare the refs with operation log and reflogs: packed-refs has no checksum, so a ref can get lost.

    The operation log has the value that the last operation gave a ref; the reflog has every append since.
    """
    expected: dict[str, str | None] = {}
    log_begins = None
    moving: set[str] = set()
    try:
        pending = repository.find_pending(repository.raw_ref(refs.PENDING), repository.raw_ref(refs.OPERATIONS))
        moving = {change.ref for change in pending[1].changes} if pending is not None else moving
        for _, operation in walk_operations(repository):
            log_begins = seconds_of(operation.time)
            for change in operation.changes:
                expected.setdefault(change.ref, change.new)
    except ScopesError as error:
        yield Finding("error", refs.OPERATIONS, error.message, "undo cannot go back beyond this point")
    logged = (ref for ref in list_logged_refs(repository, _LOGGED) if ref not in moving)
    last = {ref: next(walk_moves(repository, ref), None) for ref in logged}
    latest = dict(expected)
    for ref, move in last.items():
        if move is not None and move.new != NULL_OID and expected.get(ref, move.new) is not None:
            latest[ref] = move.new
    yield from (_lost_ref(repository, ref, value) for ref, value in latest.items() if value and ref not in values)
    yield from (_unsorted_ref(ref) for ref in values if ref not in moving and repository.raw_ref(ref) is None)
    for ref, value in values.items():
        move = last.get(ref)
        if move is not None and move.new not in (value, repository.raw_ref(ref)):
            # git writes the reflog first: a process that dies before it moves the ref leaves a false entry.
            severity = "warning" if move.old == value else "error"
            cure = f"its reflog ends at {move.new}"
            yield Finding(severity, _shown(ref), "it differs from the last value in its reflog", cure)
        if ref.startswith((refs.HEADS, refs.META)) and ref not in expected and log_begins is not None:
            yield from _unrecorded_ref(repository, ref, log_begins)
        if ref.startswith(refs.ACTIVE) and expected.get(ref, value) != value == repository.find_ref(ref):
            cure = f"choose the active branch again: scopes conv switch {ref.removeprefix(refs.ACTIVE)} BRANCH"
            yield Finding("error", ref, "it differs from the value that the last operation set", cure)


def _unsorted_ref(ref: str) -> Finding:
    """Describe a ref that is in packed-refs but that git's binary search does not find."""
    return Finding("error", _shown(ref), "packed-refs is not sorted: git does not find this ref in it")


def _lost_ref(repository: Repository, ref: str, value: str) -> Finding:
    """Describe a lost ref: its file is damaged, which git and libgit2 ignore silently, or it is missing."""
    path = os.path.join(repository.path, ref)
    if os.path.isfile(path):
        return Finding("error", _shown(ref), "its file is damaged", f"echo '{value}' > {path}")
    command = "symbolic-ref" if value.startswith(refs.SYMBOLIC) else "update-ref"
    cure = f"git --git-dir={repository.path} {command} {ref} {value.removeprefix(refs.SYMBOLIC)}"
    return Finding("error", _shown(ref), "it is missing, and no operation deleted it", cure)


def _unrecorded_ref(repository: Repository, ref: str, log_begins: int) -> Iterator[Finding]:
    """Report a ref that is not in the operation log, unless its operation may have expired."""
    moves = list(walk_moves(repository, ref))
    if moves and moves[-1].old == NULL_OID and moves[-1].time >= log_begins:
        yield Finding("warning", _shown(ref), "no operation created it: a git command did")
    elif not os.path.exists(os.path.join(repository.path, "logs", ref)):
        yield Finding("warning", _shown(ref), "it has no reflog and no operation created it: is packed-refs damaged?")


def walk_leftover_defects(repository: Repository) -> Iterator[Finding]:
    """Report lock files, temporary files and an unfinished operation that dead processes left."""
    for path in list_leftovers(repository):
        yield Finding("warning", path, "a process died and left this file", "remove it: scopes gc")
    if repository.raw_ref(refs.PENDING) is not None:
        cure = "the next command that writes will finish it"
        yield Finding("warning", refs.PENDING, "an operation is committed, but not all of its refs are moved", cure)


def _shown(ref: str) -> str:
    return ref.removeprefix(refs.HEADS)
