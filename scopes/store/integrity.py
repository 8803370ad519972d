"""Looking for damage: every file of the object database, every object that a ref needs, every ref against its history.

Nothing here repairs. libgit2 verifies no object that comes from a pack, so every byte is hashed again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.store import refs as names
from scopes.store.objects import COMMIT, TREE, parse_commit, parse_tree
from scopes.store.operation_log import walk_operations
from scopes.store.recovery import list_leftovers
from scopes.store.reflog import walk_moves
from scopes.store.repository import Repository

_BLOCK_BYTES = 1 << 20
_CHECKSUM_BYTES = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: `severity` is error or warning, `where` a ref, an object or a file of the store."""

    severity: str
    where: str
    problem: str
    cure: str | None = None


def walk_pack_defects(repository: Repository) -> Iterator[Finding]:
    """Hash every pack and pack index against the checksum at its end."""
    directory = os.path.join(repository.path, "objects", "pack")
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        if not name.endswith((".pack", ".idx")):
            continue
        path = os.path.join(directory, name)
        try:
            sound = _ends_with_own_hash(path)
        except OSError as error:
            yield Finding("error", f"objects/pack/{name}", f"cannot be read: {os.strerror(error.errno or 0)}")
            continue
        if not sound:
            cure = "restore the file from a backup" if name.endswith(".pack") else "rebuild it: git index-pack"
            yield Finding("error", f"objects/pack/{name}", "its checksum does not match", cure)


def _ends_with_own_hash(path: str) -> bool:
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
    return [entry.oid for entry in parse_tree(data).values()] if kind == TREE else []


def walk_ref_defects(repository: Repository, values: dict[str, str]) -> Iterator[Finding]:
    """Compare the refs with the operation log and the reflogs: packed-refs has no checksum, so a ref can vanish.

    The log tells where an operation left a ref; the reflog tells every append since.
    """
    expected: dict[str, str | None] = {}
    try:
        for _, operation in walk_operations(repository):
            for change in operation.changes:
                expected.setdefault(change.ref, change.new)
    except ScopesError as error:
        yield Finding("error", names.OPERATIONS, error.message, "undo does not reach behind this point")
    for ref, value in expected.items():
        if value is not None and ref not in values:
            cure = f"git --git-dir={repository.path} update-ref {ref} {value}"
            yield Finding("error", _shown(ref), "it is gone, and no operation removed it", cure)
    for ref in values:
        if ref.startswith(names.HEADS) and ref not in expected:
            yield Finding("warning", _shown(ref), "no operation made it: a git command did")
    for ref, value in values.items():
        last = next(walk_moves(repository, ref), None) if ref.startswith(names.HEADS) else None
        if last is not None and last.new != value:
            cure = f"its reflog ends at {last.new}"
            yield Finding("error", _shown(ref), "it does not stand where its reflog says", cure)


def walk_leftover_defects(repository: Repository) -> Iterator[Finding]:
    """Name the lock and temporary files of dead processes."""
    for path in list_leftovers(repository):
        yield Finding("warning", path, "a process died and left this file", "it goes away with: scopes gc")
    if repository.raw_ref(names.PENDING) is not None:
        cure = "the next command that writes finishes it"
        yield Finding("warning", names.PENDING, "an operation is committed, and its refs still have to move", cure)


def _shown(ref: str) -> str:
    return ref.removeprefix(names.HEADS)
