"""Repair what `fsck` finds, as far as nothing can be lost by it.

Derived files are rebuilt, refs are set to what operation log and reflog say. A file that is replaced is kept in a
quarantine directory in the store. Every step can be repeated, so a repair that was killed is finished by the next one.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from scopes.clock import now, random_bytes
from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.error_translation import REMOVE, translated
from scopes.store.fsck import walk_object_defects, walk_pack_defects, walk_ref_defects
from scopes.store.git_program import find_git, run_git
from scopes.store.init import sync
from scopes.store.libgit2 import pygit2
from scopes.store.maintenance import remove_leftovers
from scopes.store.objects import is_hash_of
from scopes.store.packed_refs import read_packed_refs
from scopes.store.recovery import finish_pending, list_orphans, remove_orphans, set_ref
from scopes.store.repository import Repository

_QUARANTINE = "scopes-quarantine"
_PACKED_REF = re.compile(rb"(?P<oid>[0-9a-f]{40}) (?P<name>refs/[^\n]+)\n(?P<peeled>\^[0-9a-f]{40}\n)?")
_PACKED_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"


class Repair(NamedTuple):
    """One repair: a ref or a file of the store, and what is done to it."""

    where: str
    action: str


class Quarantine:
    """A directory for the files that a repair replaces, with their paths in the store; created when it is needed."""

    def __init__(self, store: str) -> None:
        time = re.sub("[^0-9TZ]", "", now())
        self.path = os.path.join(store, _QUARANTINE, f"{time}-{random_bytes(3).hex()}")
        self._store = store

    @property
    def is_used(self) -> bool:
        """True if it holds a file."""
        return os.path.isdir(self.path)

    def copy(self, name: str) -> None:
        """Keep a file of the store that is about to be replaced, as a link: a file of any size needs no space."""
        source, target = os.path.join(self._store, name), self._prepare(name)
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:  # a file system without hard links
            shutil.copyfile(source, target, follow_symlinks=False)
            sync(target)
        sync(os.path.dirname(target))

    def move(self, name: str) -> None:
        """Move a file out of the store."""
        target = self._prepare(name)
        os.rename(os.path.join(self._store, name), target)
        sync(os.path.dirname(target))
        sync(os.path.dirname(os.path.join(self._store, name)))

    def _prepare(self, name: str) -> str:
        target, top = os.path.join(self.path, name), os.path.join(self._store, _QUARANTINE)
        if os.path.islink(top):
            raise Corrupt(f"{_QUARANTINE} is a symbolic link in the store {self._store}", hint=REMOVE)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        return target


def walk_repairs(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Repair the store and yield what was done, or would be done; call it under the exclusive lock.

    A `dry_run` cannot foresee what can be repaired only after another repair.

    Raises:
        Inaccessible: a file cannot be written; what was yielded is done.
    """
    with translated("repair the store", repository.path):
        yield from _rebuild_pack_indexes(repository, quarantine, dry_run=dry_run)
        yield from _rewrite_packed_refs(repository, quarantine, dry_run=dry_run)
        yield from _finish_operation(repository, quarantine, dry_run=dry_run)
        yield from _remove_leftovers(repository, dry_run=dry_run)
        yield from _restore_refs(repository, quarantine, dry_run=dry_run, only=refs.OPERATIONS)
        yield from _restore_refs(repository, quarantine, dry_run=dry_run)
        yield from _drop_damaged_copies(repository, quarantine, dry_run=dry_run)


def _rebuild_pack_indexes(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Replace damaged indexes of intact packs; first of all, because libgit2 trusts the offsets in them."""
    damaged = {finding.where for finding in walk_pack_defects(repository)}
    for name in sorted(name for name in damaged if name.endswith(".idx")):
        pack = f"{name.removesuffix('.idx')}.pack"
        if pack in damaged or find_git() is None or not os.path.isfile(os.path.join(repository.path, pack)):
            continue
        if not dry_run:
            quarantine.copy(name)
            rebuilt = os.path.join(quarantine.path, "rebuilt.idx")
            try:
                words = ("index-pack", "-o", rebuilt, os.path.join(repository.path, pack))
                run_git(repository.path, *words, lock=repository.lock.descriptor)
            except ScopesError:
                continue  # it is reported again as a defect
            os.replace(rebuilt, os.path.join(repository.path, name))
            sync(os.path.join(repository.path, "objects", "pack"))
        yield Repair(name, "rebuild the index of the pack")


def _rewrite_packed_refs(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Write packed-refs again if lines in it cannot be read or are not sorted; lost refs are restored later."""
    content = read_packed_refs(repository.path)
    lines = {match["name"]: match[0] for match in _PACKED_REF.finditer(content)}
    body = re.sub(rb"\A#[^\n]*\n", b"", content)
    if b"".join(lines[name] for name in sorted(lines)) == body:
        return
    if not dry_run:
        quarantine.copy("packed-refs")
        _replace_ref_file(repository, "packed-refs", _PACKED_HEADER + b"".join(lines[name] for name in sorted(lines)))
        repository.git.set_refdb(pygit2.Refdb.open(repository.git))
    yield Repair("packed-refs", "write it again, sorted, without the lines that cannot be read")


def _finish_operation(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Move the refs of an operation whose process died, or drop the marker if its operation cannot be read."""
    try:
        marker = repository.raw_ref(refs.PENDING)
        if marker is None:
            return
        repository.find_pending(marker, repository.raw_ref(refs.OPERATIONS))
    except (Corrupt, NotFound):
        if not os.path.isfile(os.path.join(repository.path, refs.PENDING)):
            return
        if not dry_run:
            quarantine.move(refs.PENDING)
        yield Repair(refs.PENDING, "remove the marker of an operation that cannot be read")
        return
    if not dry_run:
        finish_pending(repository)
    yield Repair(refs.PENDING, "finish the operation of a process that died")


def _remove_leftovers(repository: Repository, *, dry_run: bool) -> Iterator[Repair]:
    paths = list_orphans(repository)
    if paths and not dry_run:
        remove_leftovers(repository)
    yield from (Repair(path, "remove the file of a process that died") for path in paths)


def _restore_refs(
    repository: Repository, quarantine: Quarantine, *, dry_run: bool, only: str | None = None
) -> Iterator[Repair]:
    """Set lost and damaged refs to the value that operation log and reflog have for them."""
    try:
        defects = list(walk_ref_defects(repository, repository.list_refs()))
    except ScopesError:
        return  # reported again as a defect
    for defect in defects:
        if defect.value is None or only not in (None, defect.ref):
            continue
        if not dry_run:
            if repository.ref_files(defect.ref).loose.get(defect.ref, "") is None:
                quarantine.copy(defect.ref)
                _replace_ref_file(repository, defect.ref, f"{defect.value}\n".encode())
            else:
                change = RefChange(defect.ref, repository.raw_ref(defect.ref), defect.value)
                set_ref(repository, change, "repair: restore the last recorded value")
        yield Repair(defect.ref.removeprefix(refs.HEADS), f"set it to {defect.value}")


def _replace_ref_file(repository: Repository, name: str, content: bytes) -> None:
    """Replace a file in one step, as git does: a damaged ref must not show its older value in packed-refs meanwhile."""
    path = os.path.join(repository.path, name)
    remove_orphans([f"{path}.lock"])
    with open(f"{path}.lock", "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.lock", path)
    sync(os.path.dirname(path))


def _drop_damaged_copies(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Move damaged loose objects away of which a pack has an intact copy."""
    try:
        values = repository.list_refs()
    except ScopesError:
        return
    tips = {ref: Oid(value) for ref, value in values.items() if not value.startswith(refs.SYMBOLIC)}
    for oid, _ in walk_object_defects(repository, tips):
        name = os.path.join("objects", oid[:2], oid[2:])
        if os.path.isfile(os.path.join(repository.path, name)) and _is_packed_intact(repository, oid):
            if not dry_run:
                quarantine.move(name)
            yield Repair(name, "remove a damaged copy of an object that is also in a pack")


def _is_packed_intact(repository: Repository, oid: Oid) -> bool:
    with suppress(pygit2.GitError, ValueError, OSError):
        found = repository.find_packed(oid)
        return found is not None and is_hash_of(oid, *found)
    return False
