"""Looking for damage: every file of the object database, every object that a ref needs, every ref against its history.

Nothing here repairs. libgit2 verifies no object that comes from a pack, so every byte is hashed again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from scopes.clock import seconds_of
from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.store import refs as names
from scopes.store.objects import COMMIT, TAG, TREE, parse_commit, parse_tree
from scopes.store.operation_log import walk_operations
from scopes.store.recovery import list_leftovers
from scopes.store.reflog import NOTHING, list_logged_refs, walk_moves
from scopes.store.repository import Repository

_BLOCK_BYTES = 1 << 20
_CHECKSUM_BYTES = 20
_LOGGED = (names.HEADS, names.META, names.TRASH, names.OPERATIONS)
_CURES = {
    ".pack": "restore the file from a backup",
    ".idx": "rebuild it: git index-pack",
    "commit-graph": "it is written anew by: scopes gc",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: `severity` is error or warning, `where` a ref, an object or a file of the store."""

    severity: str
    where: str
    problem: str
    cure: str | None = None


def walk_pack_defects(repository: Repository) -> Iterator[Finding]:
    """Hash every pack, its index and the commit graph against the checksum at the file's end."""
    for path in _list_summed_files(os.path.join(repository.path, "objects")):
        where = os.path.relpath(path, repository.path)
        try:
            sound = ends_with_own_hash(path)
        except OSError as error:
            yield Finding("error", where, f"cannot be read: {os.strerror(error.errno or 0)}")
            continue
        if not sound:
            cure = next(cure for suffix, cure in _CURES.items() if path.endswith(suffix))
            yield Finding("error", where, "its checksum does not match", cure)


def _list_summed_files(directory: str) -> list[str]:
    packs = os.path.join(directory, "pack")
    found = [os.path.join(packs, name) for name in sorted(os.listdir(packs))] if os.path.isdir(packs) else []
    graph = os.path.join(directory, "info", "commit-graph")
    return [path for path in found if path.endswith((".pack", ".idx"))] + [graph] * os.path.isfile(graph)


def ends_with_own_hash(path: str) -> bool:
    """Tell whether a file ends with the SHA-1 of all its bytes before, as all of git's larger files do.

    Raises:
        OSError: it cannot be read.
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
    """Read and hash every object that the refs reach; `tips` maps refs to commits."""
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
                yield Finding("error", f"{_shown(ref)}: {oid}", "its bytes are not what its name says")
            stack.extend(below)


def is_hash_of(oid: Oid, kind: str, data: bytes) -> bool:
    """Tell whether an object's bytes are those that its id was made from."""
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
    """Compare the refs with the operation log and the reflogs: packed-refs has no checksum, so a ref can vanish.

    The log tells where an operation left a ref; the reflog tells every append since.
    """
    expected: dict[str, str | None] = {}
    log_begins = None
    moving: set[str] = set()
    try:
        pending = repository.find_pending(repository.raw_ref(names.PENDING), repository.raw_ref(names.OPERATIONS))
        moving = {change.ref for change in pending[1].changes} if pending is not None else moving
        for _, operation in walk_operations(repository):
            log_begins = seconds_of(operation.time)
            for change in operation.changes:
                expected.setdefault(change.ref, change.new)
    except ScopesError as error:
        yield Finding("error", names.OPERATIONS, error.message, "undo does not reach behind this point")
    logged = (ref for ref in list_logged_refs(repository, _LOGGED) if ref not in moving)
    last = {ref: next(walk_moves(repository, ref), None) for ref in logged}
    latest = dict(expected)
    for ref, move in last.items():
        if move is not None and move.new != NOTHING and expected.get(ref, move.new) is not None:
            latest[ref] = move.new
    yield from (_vanished(repository, ref, value) for ref, value in latest.items() if value and ref not in values)
    yield from (_lost(ref) for ref in values if ref not in moving and repository.raw_ref(ref) is None)
    for ref, value in values.items():
        move = last.get(ref)
        if move is not None and move.new not in (value, repository.raw_ref(ref)):
            # git writes the reflog first: whoever dies between the two leaves a move that never happened.
            severity = "warning" if move.old == value else "error"
            cure = f"its reflog ends at {move.new}"
            yield Finding(severity, _shown(ref), "it does not stand where its reflog says", cure)
        if ref.startswith((names.HEADS, names.META)) and ref not in expected and log_begins is not None:
            yield from _unknown(repository, ref, log_begins)
        if ref.startswith(names.ACTIVE) and expected.get(ref, value) != value == repository.find_ref(ref):
            cure = f"choose the active branch again: scopes conv switch {ref.removeprefix(names.ACTIVE)} BRANCH"
            yield Finding("error", ref, "it does not stand where the last operation left it", cure)


def _lost(ref: str) -> Finding:
    """Tell a ref that git's search by halves does not come across."""
    return Finding("error", _shown(ref), "packed-refs is out of order: it is there, and git does not find it")


def _vanished(repository: Repository, ref: str, value: str) -> Finding:
    """Tell a ref whose file is damaged, which git and libgit2 pass over in silence, from one that is nowhere."""
    path = os.path.join(repository.path, ref)
    if os.path.isfile(path):
        return Finding("error", _shown(ref), "its file is damaged", f"echo '{value}' > {path}")
    command = "symbolic-ref" if value.startswith(names.SYMBOLIC) else "update-ref"
    cure = f"git --git-dir={repository.path} {command} {ref} {value.removeprefix(names.SYMBOLIC)}"
    return Finding("error", _shown(ref), "it is gone, and no operation removed it", cure)


def _unknown(repository: Repository, ref: str, log_begins: int) -> Iterator[Finding]:
    """Judge a ref that the log does not know; the operation of an old one was let go with the log's beginning."""
    moves = list(walk_moves(repository, ref))
    if moves and moves[-1].old == NOTHING and moves[-1].time >= log_begins:
        yield Finding("warning", _shown(ref), "no operation made it: a git command did")
    elif not os.path.exists(os.path.join(repository.path, "logs", ref)):
        yield Finding("warning", _shown(ref), "nothing tells where it comes from: is packed-refs damaged?")


def walk_leftover_defects(repository: Repository) -> Iterator[Finding]:
    """Name the lock and temporary files of dead processes."""
    for path in list_leftovers(repository):
        yield Finding("warning", path, "a process died and left this file", "it goes away with: scopes gc")
    if repository.raw_ref(names.PENDING) is not None:
        cure = "the next command that writes finishes it"
        yield Finding("warning", names.PENDING, "an operation is committed, and its refs still have to move", cure)


def _shown(ref: str) -> str:
    return ref.removeprefix(names.HEADS)
