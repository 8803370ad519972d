"""Move refs: append to one ref by compare-and-swap, or move several refs atomically as an operation.

libgit2's ref transactions are not atomic over several refs, so an operation has its own commit point: under the
exclusive lock, its objects are written, then a commit with the old and the new value of every ref, and then the marker
ref is set to that commit. From then on the operation is committed; its refs are moved at once or by the next writer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeGuard

from scopes.clock import jitter, seconds_of
from scopes.errors import Busy, Inaccessible, Invalid, NotFound, ScopesError
from scopes.ids import Oid
from scopes.model.operation import Operation, RefChange, encode_operation
from scopes.store import refs
from scopes.store.error_translation import is_locked, is_moved, refusal
from scopes.store.init import sync
from scopes.store.libgit2 import pygit2
from scopes.store.objects import BLOB, COMMIT, TREE, Identity, TreeEntry, format_commit, format_tree
from scopes.store.prunes import Prunes
from scopes.store.recovery import finish_pending, move_refs, remove_orphan_lock, set_ref
from scopes.store.reflog import append_line, identify_actor
from scopes.store.repository import OPERATION_FILE, Repository
from scopes.store.signals import defer_signals

_ALL_REFS = "refs/"
_FEW_REFS = 50  # new ones in an operation, for which not all refs are listed
_TRIES_SHARED = 6
_TRIES_EXCLUSIVE = 20


@contextmanager
def exclusive_write(repository: Repository) -> Iterator[Operation | None]:
    """Hold the exclusive lock, with no operation pending; yield the operation that had to be finished first, if any.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    with repository.lock.exclusive():
        repository.forget_pruned()
        yield finish_pending(repository)


@contextmanager
def shared_write(repository: Repository) -> Iterator[None]:
    """Hold the shared lock, with no operation pending; move refs by compare-and-swap alone.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    while True:
        with repository.lock.shared():
            if repository.raw_ref(refs.PENDING) is None:
                repository.forget_pruned()
                yield
                return
        with exclusive_write(repository):
            pass


@contextmanager
def unless_pruned(repository: Repository, prunes: Prunes) -> Iterator[None]:
    """Hold off a purge while something that was read from the store gets its name; a store that cannot be locked, too.

    Raises:
        Busy: a purge has deleted objects since `prunes` was made, or does so now.
    """
    with ExitStack() as locks:
        with suppress(Inaccessible):
            locks.enter_context(repository.lock.shared())
        prunes.require_none()
        yield


def require_unpurged(repository: Repository, what: str, commits: Iterable[Oid]) -> None:
    """Raise if commits that a text was made from have gone; call it under the lock, before the text is stored.

    A purge rewrites every commit above what it removes, and deletes the old ones.

    Raises:
        Busy: a purge has deleted one of them; `what` it was of is named.
    """
    if not all(map(repository.has, commits)):
        text = f"something of {what} was purged meanwhile; the new text may repeat it, so nothing was stored"
        raise Busy(text, hint="try again")


def append(
    repository: Repository, ref: str, build: Callable[[Oid], Oid], reason: str, *, first: str | None = None
) -> Oid:
    """Move a ref from its tip to a new commit on top of it; other processes may append at the same time.

    `build` writes the commit for a given tip; it is called again if another process moved the ref first. After a few
    lost races the exclusive lock is taken, so that progress is certain. `first` is the first message of the same
    command, for the reflog, which `undo` reads.

    Raises:
        NotFound: there is no such ref.
        Busy: a git command keeps the ref locked.
        Inaccessible: disk full or permission denied; the ref is unchanged.
    """
    identify_actor(repository)
    with shared_write(repository):
        for turn in range(_TRIES_SHARED):
            commit = _try_append(repository, ref, build, reason, first)
            if commit is not None:
                return commit
            time.sleep(jitter() * 0.002 * (turn + 1))
    with exclusive_write(repository):
        for _ in range(_TRIES_EXCLUSIVE):
            commit = _try_append(repository, ref, build, reason, first)
            if commit is not None:
                return commit
            remove_orphan_lock(repository, ref)
    raise Busy(f"another program keeps {ref} locked", hint="try again in a moment")


def _try_append(
    repository: Repository, ref: str, build: Callable[[Oid], Oid], reason: str, first: str | None
) -> Oid | None:
    """Compare and swap once; return None if another process moved the ref or holds its lock."""
    reference = repository.ref_reader.find(ref)
    if reference is None:
        raise NotFound(f"there is no {ref.removeprefix(refs.HEADS)}")
    commit = build(Oid(str(reference.target)))
    line = append_line(repository, reason, first)
    with defer_signals():
        try:
            reference.set_target(pygit2.Oid(hex=commit), line)
        except (pygit2.GitError, OSError) as error:
            if is_moved(error) or is_locked(error):
                return None
            _check_failed_move(repository, ref, commit, error)
        repository.committed = reason
    return commit


def _check_failed_move(repository: Repository, ref: str, commit: Oid, error: BaseException) -> None:
    """Handle an error of a ref update: the ref is unchanged, or it has the new value and was not synced.

    Raises:
        Inaccessible: the ref is unchanged, or it was moved and cannot be synced; the message says which.
    """
    what = ref.removeprefix(refs.HEADS)
    if repository.raw_ref(ref) != commit:
        raise refusal(f"move {what}", repository.path, error) from error
    try:
        sync(os.path.join(repository.path, os.path.dirname(ref)))
    except OSError as problem:
        raise Inaccessible(
            f"{what} was recorded as {commit}, but could not be synced: a power cut may lose it",
            hint="check the disk; do not repeat the command",
        ) from problem


def commit_operation(repository: Repository, operation: Operation) -> Oid:
    """Commit an operation and move its refs; all of them or none. Call it inside `exclusive_write`.

    The objects of the new values must be written before, under the same lock or an earlier one (`store.prunes`).

    Raises:
        Busy: a ref does not have the old value of the operation.
        NotFound: the object of a new value is not in the store.
        Invalid: git does not accept a name, or two names conflict.
        Inaccessible: the disk failed; nothing has changed.
    """
    existing = _list_near(repository, [change.ref for change in operation.changes if change.old is None])
    _check_old_values(repository, operation, existing)
    _check_names(operation, existing)
    _check_new_values(repository, operation)
    previous = repository.raw_ref(refs.OPERATIONS)
    commit = write_operation(repository, operation, None if previous is None else Oid(previous))
    identify_actor(repository)
    with defer_signals():
        try:
            set_ref(repository, RefChange(refs.PENDING, None, commit), operation.kind)
        except ScopesError as error:
            _check_failed_move(repository, refs.PENDING, commit, error.__cause__ or error)
        if repository.raw_ref(refs.PENDING) != commit:
            raise Busy(f"another program keeps changing {refs.PENDING}", hint="try again in a moment")
        repository.committed = f"{operation.kind}: {operation.summary}"
        try:
            move_refs(repository, operation, commit)
        except ScopesError:
            return commit  # it is committed: readers see it, and the next writer moves the refs
    return commit


def _list_near(repository: Repository, added: list[str]) -> set[str]:
    """Return the existing refs with which new ones may conflict; all, if many are new."""
    if len(added) > _FEW_REFS:
        return repository.list_ref_names(_ALL_REFS)
    if not added:
        return set()
    # An active branch has the name of its conversation, as the metadata have, and cannot be packed.
    folders = {f"{ref.rpartition('/')[0]}/" for ref in added if not ref.startswith(refs.ACTIVE)}
    folders |= {f"{ref}/" for ref in added}
    above = {ref[:end] for ref in added for end in range(len(_ALL_REFS), len(ref)) if ref[end] == "/"} | {*added}
    return repository.list_ref_names(*sorted(folders)) | {ref for ref in above if repository.raw_ref(ref) is not None}


def _check_old_values(repository: Repository, operation: Operation, existing: Container[str]) -> None:
    """Raise if a ref does not have its old value; `existing` are the names of all, if the operation creates some."""
    for change in operation.changes:
        if change.old is None and change.ref not in existing and change.ref.startswith(_ALL_REFS):
            continue  # to look it up by itself would find nothing, and an import has thousands
        if repository.raw_ref(change.ref) != change.old:
            raise Busy(f"{change.ref.removeprefix(refs.HEADS)} was moved by another process", hint="try again")


def _check_new_values(repository: Repository, operation: Operation) -> None:
    """Raise if an object is missing: its ref could not be moved after the commit point, and block every later writer.

    So would one that a purge has deleted since it was written.
    """
    for value in {change.new for change in operation.changes}:
        if _is_commit(value) and not repository.has(Oid(value)):
            raise NotFound(f"object {value} is not in the store", hint="see: scopes verify")


def _check_names(operation: Operation, existing: set[str]) -> None:
    added = [c.ref for c in operation.changes if c.old is None]
    for ref in added:
        if not pygit2.reference_is_valid_name(ref):  # after the commit point it would block every later writer
            raise Invalid(f"{ref!a} is not a name that git accepts", hint="choose another name")
    if added:
        removed = {c.ref for c in operation.changes if c.new is None}
        refs.check_name_conflicts(existing - removed, added)


def write_operation(repository: Repository, operation: Operation, previous: Oid | None) -> Oid:
    """Write the commit of an operation; old and new values are its parents, so that undo can reach them."""
    values = [value for change in operation.changes for value in (change.old, change.new)]
    parents = dict.fromkeys(Oid(value) for value in (previous, *values) if _is_commit(value))
    blob = repository.write(BLOB, encode_operation(operation))
    tree = repository.write(TREE, format_tree([TreeEntry(OPERATION_FILE, blob, is_tree=False)]))
    data = format_commit(
        tree=tree,
        parents=parents,
        author=Identity("scopes", "scopes@systems.scopes"),
        time=seconds_of(operation.time),
        subject=f"{operation.kind}: {operation.summary}",
        trailers=[("Scopes-Operation", operation.id)],
    )
    return repository.write(COMMIT, data)


def _is_commit(value: str | None) -> TypeGuard[str]:
    return value is not None and not value.startswith(refs.SYMBOLIC)
