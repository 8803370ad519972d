"""Find damage: check pack files, every reachable object, and every ref against operation log and reflog.

Nothing is repaired here; see `repair`. libgit2 does not verify objects from packs, so all bytes are hashed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote
from typing import NamedTuple

from scopes.clock import seconds_of
from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.store import refs
from scopes.store.checksums import ends_with_own_hash
from scopes.store.expire import EXPIRE
from scopes.store.graph import is_ancestor
from scopes.store.objects import COMMIT, TAG, TREE, is_hash_of, parse_commit, parse_tree
from scopes.store.operation_log import walk_operations
from scopes.store.recovery import list_leftovers, list_orphans
from scopes.store.reflog import NULL_OID, RefMove, list_logged_refs, walk_moves
from scopes.store.repository import Repository

_RESTORE = "restore it from a backup or a clone"
_LOGGED = (refs.HEADS, refs.META, refs.TRASH, refs.OPERATIONS)
REPAIR = "repair it: scopes repair"
_CURES = {
    ".pack": "restore the file from a backup",
    ".idx": REPAIR,
}


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
        return Finding(self.severity, _shown(self.ref), self.problem, self.cure)


class ObjectDefect(NamedTuple):
    """A damaged or missing object, and how it is reported."""

    oid: Oid
    finding: Finding


def walk_pack_defects(repository: Repository) -> Iterator[Finding]:
    """Check every pack and its index against the checksum at the end of the file."""
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
    return [path for path in found if path.endswith((".pack", ".idx"))]


def walk_object_defects(repository: Repository, tips: dict[str, Oid]) -> Iterator[ObjectDefect]:
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
                yield ObjectDefect(oid, Finding("error", f"{_shown(ref)}: {oid}", error.message, _RESTORE))
                continue
            if not is_hash_of(oid, kind, data):
                problem = "its content does not match its id"
                yield ObjectDefect(oid, Finding("error", f"{_shown(ref)}: {oid}", problem, _RESTORE))
            stack.extend(below)


def _references(oid: Oid, kind: str, data: bytes) -> list[Oid]:
    if kind == COMMIT:
        commit = parse_commit(oid, data)
        return [commit.tree, *commit.parents]
    if kind == TAG:
        return [Oid(data[7:47].decode("ascii", "replace"))]
    return [entry.oid for entry in parse_tree(data).values()] if kind == TREE else []


def _find_moving(repository: Repository) -> set[str]:
    """Return the refs of a pending operation, and the log: it has no ref yet if that is the first one of a store."""
    pending = repository.find_pending(repository.raw_ref(refs.PENDING), repository.raw_ref(refs.OPERATIONS))
    return set() if pending is None else {refs.OPERATIONS, *(change.ref for change in pending[1].changes)}


def walk_ref_defects(repository: Repository, values: dict[str, str]) -> Iterator[RefDefect]:
    """Compare the refs with operation log and reflogs: packed-refs has no checksum, so a ref can get lost.

    The operation log has the value that the last operation gave a ref; the reflog has every append since.
    """
    expected: dict[str, str | None] = {}
    log_begins = None
    has_expired = False
    moving: set[str] = set()
    try:
        moving = _find_moving(repository)
        for _, operation in walk_operations(repository):
            has_expired |= operation.kind == EXPIRE
            log_begins = None if operation.kind == EXPIRE else seconds_of(operation.time)
            for change in operation.changes:
                expected.setdefault(change.ref, change.new)
    except ScopesError as error:
        yield RefDefect(refs.OPERATIONS, "error", error.message, "undo cannot go back beyond this point")
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
            yield _moved_back(repository, ref, value, move)
        if ref.startswith((refs.HEADS, refs.META)) and ref not in expected and log_begins is not None:
            yield from _unrecorded_ref(repository, ref, log_begins, has_expired=has_expired)
        if ref.startswith(refs.ACTIVE) and expected.get(ref, value) != value == repository.find_ref(ref):
            cure = f"choose the active branch again: scopes switch {quote(ref.removeprefix(refs.ACTIVE))} BRANCH"
            yield RefDefect(ref, "error", "it differs from the value that the last operation set", cure)


def _unsorted_ref(ref: str) -> RefDefect:
    """Describe a ref that is in packed-refs but that git's binary search does not find."""
    return RefDefect(ref, "error", "packed-refs is not sorted: git does not find this ref in it", REPAIR)


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
        return is_hash_of(Oid(value), *repository.read(Oid(value)))
    except ScopesError:
        return False


def _unrecorded_ref(repository: Repository, ref: str, log_begins: int, *, has_expired: bool) -> Iterator[RefDefect]:
    """Report a ref that is not in the operation log, unless its operation may have expired.

    An operation moves its refs after its own time, much later if its process died. So a ref that scopes created after
    the first operation in the log may still belong to an expired one.
    """
    moves = list(walk_moves(repository, ref))
    if moves and moves[-1].actor is not None and has_expired:
        return
    if moves and moves[-1].old == NULL_OID and moves[-1].time >= log_begins:
        yield RefDefect(ref, "warning", "no operation created it: a git command did")
    elif not os.path.exists(os.path.join(repository.path, "logs", ref)):
        yield RefDefect(ref, "warning", "it has no reflog and no operation created it: is packed-refs damaged?")


def walk_leftover_defects(repository: Repository, *, locked: bool) -> Iterator[Finding]:
    """Report lock files, temporary files and an unfinished operation that dead processes left.

    Without the exclusive lock they may be those of living processes.
    """
    for path in list_orphans(repository) if locked else list_leftovers(repository):
        yield Finding("warning", path, "a process died and left this file", "remove it: scopes gc")
    if repository.raw_ref(refs.PENDING) is not None:
        cure = "the next command that writes will finish it"
        yield Finding("warning", refs.PENDING, "an operation is committed, but not all of its refs are moved", cure)


def _shown(ref: str) -> str:
    return ref.removeprefix(refs.HEADS)
