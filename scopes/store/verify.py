"""Find damage, and repair what can be repaired without losing a message.

`git fsck` checks the objects; here are files, packs, and every ref against operation log and reflog. A repair keeps
what it replaces in a directory of the store.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote
from typing import NamedTuple

from scopes.clock import now, random_bytes
from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.regular_file import sync
from scopes.store import refs
from scopes.store.git_program import find_git, run_git
from scopes.store.graph import is_ancestor
from scopes.store.locks import remove_orphans
from scopes.store.maintenance import EXPIRE, remove_leftovers
from scopes.store.objects import REPAIR, object_id, pygit2, translated
from scopes.store.operations import NULL_OID, RefMove, list_logs, walk_moves, walk_operations
from scopes.store.refs import parse_packed_refs, read_packed_refs
from scopes.store.repository import (
    FORMAT_VERSION,
    HEAD,
    INITIAL_CONFIG,
    Repository,
    adopt,
    check_owner,
    list_damaged_files,
)
from scopes.store.transactions import finish_pending, list_orphans, set_ref

_RESTORE = "restore it from a backup or a clone"
_LOGGED = (refs.HEADS, refs.META, refs.TRASH, refs.OPERATIONS)
_WRONG_CHECKSUM = "its checksum does not match"
_FSCK = ("fsck", "--full", "--name-objects", "--no-dangling", "--no-progress", "--no-reflogs")
_MISSING = re.compile(r"^missing \w+ (?P<oid>[0-9a-f]{40})(?: \((?P<name>.*)\))?$", re.MULTILINE)
_DAMAGED = re.compile(
    r"(?:^error: (?=\w+: object corrupt)|found at: \S*objects/|packed object |cannot unpack |bad object )"
    r"([0-9a-f]{40}|[0-9a-f]{2}/[0-9a-f]{38})",
    re.MULTILINE,
)
_POINTER = re.compile(r"^error: (?P<name>refs/\S+): invalid sha1 pointer (?P<oid>[0-9a-f]{40})$", re.MULTILINE)
_NAME_END = re.compile(r"[~^:@]")  # what follows the ref in the name of an object
_PACKED_REF = re.compile(rb"(?P<oid>[0-9a-f]{40}) (?P<name>refs/[^\0-\x20\x7f]+)\n(?P<peeled>\^[0-9a-f]{40}\n)?")
_PACKED_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: `severity` is error or warning; `where` is a ref, an object or a file of the store."""

    severity: str
    where: str
    problem: str
    cure: str | None = None


@dataclass(frozen=True, slots=True)
class RefDefect:
    """A defect of a ref; `value` is what `repair` sets it to, None if that is unknown or would lose something."""

    ref: str
    severity: str
    problem: str
    cure: str | None = None
    value: str | None = None

    def finding(self) -> Finding:
        """Return the defect as it is reported."""
        return Finding(self.severity, self.ref.removeprefix(refs.HEADS), self.problem, self.cure)


def walk_file_defects(repository: Repository) -> Iterator[Finding]:
    """Check HEAD, and the configuration and the format in it."""
    for name in list_damaged_files(repository.path):
        yield Finding("error", name, "it is damaged", REPAIR)
    if repository.format_version > FORMAT_VERSION:
        problem = f"the store has format {repository.format_version}, this scopes knows {FORMAT_VERSION}"
        yield Finding("error", "config", problem, "update scopes; if the format never was so new, correct the file")


def walk_pack_defects(repository: Repository) -> Iterator[Finding]:
    """Check every pack and its index against the checksum at the end of the file.

    A pack without an index is an error only if objects are missing; a gc that was killed leaves one beside the old.
    """
    directory = os.path.join(repository.path, "objects", "pack")
    names = os.listdir(directory) if os.path.isdir(directory) else []
    for name in sorted(name for name in names if name.startswith("pack-") and name.endswith(".pack")):
        index = f"{name.removesuffix('.pack')}.idx"
        if not _ends_with_own_hash(os.path.join(directory, name)):
            yield Finding("error", f"objects/pack/{name}", _WRONG_CHECKSUM, "restore the file from a backup")
        if not os.path.isfile(os.path.join(directory, index)):
            severity = "error" if next(walk_object_defects(repository), None) else "warning"
            yield Finding(severity, f"objects/pack/{index}", "the index of the pack is missing", REPAIR)
        elif not _ends_with_own_hash(os.path.join(directory, index)):
            yield Finding("error", f"objects/pack/{index}", _WRONG_CHECKSUM, REPAIR)


def _ends_with_own_hash(path: str) -> bool:
    """Return True if a file can be read and ends with the SHA-1 of all bytes before."""
    try:
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            memoryview(data) as view,
        ):
            return hashlib.sha1(view[:-20], usedforsecurity=False).digest() == view[-20:]
    except (OSError, ValueError):
        return False


def walk_object_defects(repository: Repository) -> Iterator[Finding]:
    """Let `git fsck` read and hash all objects; yield the damaged ones, and those missing that refs reach."""
    if find_git() is None:
        problem = "not checked: the git program is not installed"
        yield Finding("warning", "objects", problem, "install git")
        return
    output = run_git(repository.path, *_FSCK, reads=True)
    damaged = {Oid(found.replace("/", "")) for found in _DAMAGED.findall(output)}
    names = {Oid(match["oid"]): match["name"] or "" for match in _MISSING.finditer(output)}
    names |= {Oid(match["oid"]): match["name"] for match in _POINTER.finditer(output)}
    names.pop(NULL_OID, None)  # of a damaged ref
    for oid in dict.fromkeys([*names, *sorted(damaged)]):
        ref = _NAME_END.split(names.get(oid, ""), maxsplit=1)[0]
        problem = f"object {oid} is damaged" if oid in damaged else f"object {oid} is not in the store"
        where = f"{ref.removeprefix(refs.HEADS)}: {oid}" if ref else oid
        yield Finding("error", where, problem, _RESTORE)


def walk_ref_defects(repository: Repository, values: dict[str, str]) -> Iterator[RefDefect]:
    """Compare the refs with operation log and reflogs: packed-refs has no checksum, so a ref can get lost.

    The operation log has the value that the last operation gave a ref; the reflog has every append since.
    """
    expected: dict[str, str | None] = {}
    moving: set[str] = set()
    kinds: set[str] = set()
    try:
        pending = repository.find_pending(repository.raw_ref(refs.PENDING), repository.raw_ref(refs.OPERATIONS))
        if pending is not None:  # the log has no ref yet if that is the first operation of a store
            moving = {refs.OPERATIONS, *(change.ref for change in pending[1].changes)}
        for _, operation in walk_operations(repository):
            kinds.add(operation.kind)
            for change in operation.changes:
                expected.setdefault(change.ref, change.new)
    except ScopesError as error:
        if refs.OPERATIONS in values:  # else it is found below, with its last value
            yield RefDefect(refs.OPERATIONS, "error", error.message, "undo cannot go back beyond this point")
    logged = (ref for ref in sorted(name for _, name in list_logs(repository, *_LOGGED)) if ref not in moving)
    last = {ref: next(walk_moves(repository, ref), None) for ref in logged}
    latest = dict(expected)
    for ref, move in last.items():
        if move is not None and move.new != NULL_OID and expected.get(ref, move.new) is not None:
            latest[ref] = move.new
    yield from (_lost_ref(repository, ref, value) for ref, value in latest.items() if value and ref not in values)
    packed = parse_packed_refs(read_packed_refs(repository.path), ("refs/",))
    unsorted = "packed-refs is not sorted: git does not find this ref in it"  # its search is binary
    for above, ref in itertools.pairwise(packed):
        if ref < above and ref in values:
            yield RefDefect(ref, "error", unsorted, REPAIR)
    for ref, value in values.items():
        move = last.get(ref)
        if move is not None and move.new not in (value, repository.raw_ref(ref)):
            yield _moved_back(repository, ref, value, move)
        is_known = ref in expected or ref in moving or EXPIRE in kinds or not kinds
        if ref.startswith((refs.HEADS, refs.META)) and not is_known:
            yield RefDefect(ref, "warning", "no operation created it: a git command did, or packed-refs is damaged")
        if ref.startswith(refs.ACTIVE) and expected.get(ref, value) != value == repository.find_ref(ref):
            cure = f"choose the active branch again: scopes switch {quote(ref.removeprefix(refs.ACTIVE))} BRANCH"
            yield RefDefect(ref, "error", "it differs from the value that the last operation set", cure)


def _lost_ref(repository: Repository, ref: str, value: str) -> RefDefect:
    """Describe a lost ref: its file is damaged, which git and libgit2 ignore silently, or it is missing."""
    is_damaged = os.path.isfile(os.path.join(repository.path, ref))
    problem = "its file is damaged" if is_damaged else "it is missing, and no operation deleted it"
    if _is_intact(repository, value):
        return RefDefect(ref, "error", problem, REPAIR, value)
    return RefDefect(ref, "error", problem, f"restore object {value} from a backup or a clone")


def _moved_back(repository: Repository, ref: str, value: str, move: RefMove) -> RefDefect:
    """Describe a ref that differs from the end of its reflog.

    Git writes the reflog first: a process that dies before it moves the ref leaves a false entry. Otherwise the ref
    can be moved on to the end of its reflog if that keeps all of its messages.
    """
    problem, cure = "it differs from the last value in its reflog", f"its reflog ends at {move.new}"
    if move.old == value:
        return RefDefect(ref, "warning", problem, cure)
    with suppress(ScopesError):
        is_kept = not _is_intact(repository, value) or is_ancestor(repository, Oid(value), move.new)
        if is_kept and _is_intact(repository, move.new):
            return RefDefect(ref, "error", problem, REPAIR, move.new)
    return RefDefect(ref, "error", problem, cure)


def _is_intact(repository: Repository, value: str) -> bool:
    """Return True if a ref could have this value: a symbolic ref, or an object that can be read."""
    if value.startswith(refs.SYMBOLIC):
        return True
    try:
        return object_id(*repository.read(Oid(value))) == Oid(value)
    except ScopesError:
        return False


def walk_leftover_defects(repository: Repository) -> Iterator[Finding]:
    """Report lock files, temporary files and an unfinished operation that dead processes left."""
    for path in list_orphans(repository):
        yield Finding("warning", path, "a process died and left this file", "remove it: scopes gc")
    if repository.raw_ref(refs.PENDING) is not None:
        cure = "the next command that writes will finish it"
        yield Finding("warning", refs.PENDING, "an operation is committed, but not all of its refs are moved", cure)


class Repair(NamedTuple):
    """One repair: a ref or a file of the store, and what is done to it."""

    where: str
    action: str


class Quarantine:
    """A directory for the files that a repair replaces, with their paths in the store; created when it is needed."""

    def __init__(self, store: str) -> None:
        time = re.sub("[^0-9TZ]", "", now())
        self.path = os.path.join(store, "scopes-quarantine", f"{time}-{random_bytes(3).hex()}")
        self._store = store

    def copy(self, name: str) -> None:
        """Keep a file of the store that is about to be replaced, as a link: a file of any size needs no space."""
        source, target = os.path.join(self._store, name), os.path.join(self.path, name)
        if os.path.lexists(source):
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            os.link(source, target, follow_symlinks=False)
            sync(os.path.dirname(target))


def repair_unopened(path: str) -> tuple[Repair, ...]:
    """Write a damaged HEAD or configuration again, without which a store cannot be opened; keep what was there."""
    damaged, quarantine = list_damaged_files(path), Quarantine(path)
    for name in damaged:
        check_owner(path)
        with translated("repair the store", path):
            quarantine.copy(name)
            _replace_file(path, name, (HEAD if name == "HEAD" else INITIAL_CONFIG).encode())
            if name == "config":
                adopt(path)
    return tuple(Repair(name, "write it again") for name in damaged)


def walk_repairs(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Repair the store and yield what was done, or would be done; call it under the exclusive lock.

    A `dry_run` cannot foresee what can be repaired only after another repair.
    """
    with translated("repair the store", repository.path):
        yield from _rebuild_pack_indexes(repository, quarantine, dry_run=dry_run)
        yield from _rewrite_packed_refs(repository, quarantine, dry_run=dry_run)
        yield from _restore_refs(repository, quarantine, dry_run=dry_run, only=refs.OPERATIONS)
        yield from _finish_operation(repository, quarantine, dry_run=dry_run)
        paths = list_orphans(repository)
        if paths and not dry_run:
            remove_leftovers(repository)
        yield from (Repair(path, "remove the file of a process that died") for path in paths)
        yield from _restore_refs(repository, quarantine, dry_run=dry_run)


def _rebuild_pack_indexes(repository: Repository, quarantine: Quarantine, *, dry_run: bool) -> Iterator[Repair]:
    """Replace damaged indexes of intact packs; first of all, because libgit2 trusts the offsets in them."""
    damaged = {finding.where for finding in walk_pack_defects(repository)}
    directory = os.path.join(repository.path, "objects", "pack")
    for name in sorted(name for name in damaged if name.endswith(".idx")):
        pack = f"{name.removesuffix('.idx')}.pack"
        if pack in damaged or find_git() is None or not os.path.isfile(os.path.join(repository.path, pack)):
            continue
        if not dry_run:
            rebuilt = os.path.join(directory, f"tmp_idx_{os.getpid()}")
            try:
                words = ("index-pack", "-o", rebuilt, os.path.join(repository.path, pack))
                run_git(repository.path, *words, lock=repository.lock.descriptor)
            except ScopesError:
                continue  # it is reported again as a defect
            quarantine.copy(name)
            os.replace(rebuilt, os.path.join(repository.path, name))
            sync(directory)
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
        _replace_file(repository.path, "packed-refs", _PACKED_HEADER + b"".join(lines[name] for name in sorted(lines)))
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
            quarantine.copy(refs.PENDING)
            os.unlink(os.path.join(repository.path, refs.PENDING))
        yield Repair(refs.PENDING, "remove the marker of an operation that cannot be read")
        return
    if not dry_run:
        finish_pending(repository)
    yield Repair(refs.PENDING, "finish the operation of a process that died")


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
                _replace_file(repository.path, defect.ref, f"{defect.value}\n".encode())
            else:
                change = RefChange(defect.ref, repository.raw_ref(defect.ref), defect.value)
                set_ref(repository, change, "repair: restore the last recorded value")
        yield Repair(defect.ref.removeprefix(refs.HEADS), f"set it to {defect.value}")


def _replace_file(store: str, name: str, content: bytes) -> None:
    """Replace a file in one step, as git does: a damaged ref must not show its older value in packed-refs meanwhile."""
    path = os.path.join(store, name)
    remove_orphans([f"{path}.lock"])
    with open(f"{path}.lock", "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.lock", path)
    sync(os.path.dirname(path))
