"""Moving refs: the append of one ref by compare-and-swap, and the operation that moves several as one.

libgit2's ref transaction is not atomic over several refs, so an operation has a commit point of its own: under the
exclusive lock all objects are written, then one commit that holds old and new value of every ref, then the marker ref
is set to it. From then on it has happened; the refs follow, now or when the next writer opens the store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeGuard

from scopes.clock import jitter, seconds_of
from scopes.errors import Busy, Inaccessible, Invalid, NotFound, ScopesError
from scopes.ids import Oid
from scopes.model.operation import Operation, RefChange, encode_operation
from scopes.store import refs as names
from scopes.store.error_translation import is_locked, is_moved, refusal
from scopes.store.init import sync
from scopes.store.libgit2 import pygit2
from scopes.store.objects import BLOB, COMMIT, TREE, Entry, Identity, format_commit, format_tree
from scopes.store.recovery import finish_pending, move_refs, remove_orphan_lock, set_ref
from scopes.store.repository import OPERATION_FILE, Repository
from scopes.store.signals import defer_signals

_TRIES_BESIDE_OTHERS = 6
_TRIES_ALONE = 20


@contextmanager
def exclusive_write(repository: Repository) -> Iterator[None]:
    """Hold the store alone, with nothing pending and everything synced as the settings ask.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    with repository.lock.exclusive():
        finish_pending(repository)
        yield


@contextmanager
def shared_write(repository: Repository) -> Iterator[None]:
    """Hold the store together with others who write, with nothing pending; refs move by compare-and-swap alone.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    while True:
        with repository.lock.shared():
            if repository.raw_ref(names.PENDING) is None:
                yield
                return
        with exclusive_write(repository):
            pass


def append(repository: Repository, ref: str, build: Callable[[Oid], Oid], reason: str) -> Oid:
    """Move a ref from its tip to a commit on top of it, whoever else appends at the same time.

    `build` writes the commit for a given tip; it is called again when somebody else was faster. After a few lost races
    the store is taken alone, so that progress is certain.

    Raises:
        NotFound: there is no such ref.
        Busy: a git command keeps the ref locked.
        Inaccessible: disk full, permission; the ref is where it was.
    """
    with shared_write(repository):
        for turn in range(_TRIES_BESIDE_OTHERS):
            commit = _try_append(repository, ref, build, reason)
            if commit is not None:
                return commit
            time.sleep(jitter() * 0.002 * (turn + 1))
    with exclusive_write(repository):
        for _ in range(_TRIES_ALONE):
            commit = _try_append(repository, ref, build, reason)
            if commit is not None:
                return commit
            remove_orphan_lock(repository, ref)
    raise Busy(f"another program keeps {ref} locked", hint="try again in a moment")


def _try_append(repository: Repository, ref: str, build: Callable[[Oid], Oid], reason: str) -> Oid | None:
    """Compare and swap once; None when somebody else moved or holds the ref."""
    try:
        reference = repository.git.references.get(ref)
    except (pygit2.GitError, OSError, ValueError) as error:
        raise refusal(f"read {ref}", repository.path, error) from error
    if reference is None:
        raise NotFound(f"there is no {ref.removeprefix(names.HEADS)}")
    commit = build(Oid(str(reference.target)))
    with defer_signals():
        try:
            reference.set_target(pygit2.Oid(hex=commit), reason)
        except (pygit2.GitError, OSError) as error:
            if is_moved(error) or is_locked(error):
                return None
            _settle(repository, ref, commit, error)
        repository.committed = reason
    return commit


def _settle(repository: Repository, ref: str, commit: Oid, error: BaseException) -> None:
    """Find out what a failed ref update left behind: nothing, or the new value with an unsynced directory.

    Raises:
        Inaccessible: it did not happen, or it did and the disk does not confirm it, which the message then says.
    """
    what = ref.removeprefix(names.HEADS)
    if repository.raw_ref(ref) != commit:
        raise refusal(f"move {what}", repository.path, error) from error
    try:
        sync(os.path.join(repository.path, os.path.dirname(ref)))
    except OSError as problem:
        raise Inaccessible(
            f"{what} was recorded as {commit}, but the disk does not confirm that it would survive a power cut",
            hint="check the disk; do not repeat the command",
        ) from problem


def commit_operation(repository: Repository, operation: Operation) -> Oid:
    """Make an operation happen, wholly or not at all; call it inside `writing`, its objects being written already.

    Raises:
        Busy: a ref is not where the operation found it.
        Invalid: git takes no such name, or two names cannot stand beside each other.
        Inaccessible: the disk is in the way; nothing has happened.
    """
    _check_old_values(repository, operation)
    _check_names(repository, operation)
    previous = repository.raw_ref(names.OPERATIONS)
    commit = write_operation(repository, operation, None if previous is None else Oid(previous))
    with defer_signals():
        try:
            set_ref(repository, RefChange(names.PENDING, None, commit), operation.kind)
        except ScopesError as error:
            _settle(repository, names.PENDING, commit, error.__cause__ or error)
        if repository.raw_ref(names.PENDING) != commit:
            raise Busy(f"another program keeps moving {names.PENDING}", hint="try again in a moment")
        repository.committed = f"{operation.kind}: {operation.summary}"
        try:
            move_refs(repository, operation, commit)
        except ScopesError:
            return commit  # it has happened: readers see it, and the next writer moves the refs
    return commit


def _check_old_values(repository: Repository, operation: Operation) -> None:
    for change in operation.changes:
        if repository.raw_ref(change.ref) != change.old:
            raise Busy(f"{change.ref.removeprefix(names.HEADS)} was moved by somebody else", hint="try again")


def _check_names(repository: Repository, operation: Operation) -> None:
    added = [c.ref for c in operation.changes if c.old is None]
    for ref in added:
        if not pygit2.reference_is_valid_name(ref):  # behind the commit point it would stop every later writer
            raise Invalid(f"{ref!a} is no name that git takes", hint="choose another name for it")
    if added:
        removed = {c.ref for c in operation.changes if c.new is None}
        existing = (ref for ref in repository.list_refs() if ref not in removed)
        names.check_side_by_side(existing, added)


def write_operation(repository: Repository, operation: Operation, previous: Oid | None) -> Oid:
    """Write the operation's commit; the values before and after are its parents, so that nothing undo needs is lost."""
    values = [value for change in operation.changes for value in (change.old, change.new)]
    parents = dict.fromkeys(Oid(value) for value in (previous, *values) if _is_commit(value))
    blob = repository.write(BLOB, encode_operation(operation))
    tree = repository.write(TREE, format_tree([Entry(OPERATION_FILE, blob, is_tree=False)]))
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
    return value is not None and not value.startswith(names.SYMBOLIC)
