"""What a dead process left behind: an operation past its commit point, and lock files that nobody will remove.

Everything here runs under the exclusive lock, so no other scopes process holds any ref's lock file; a git program that
does holds it for milliseconds. A lock file that stays the same file for a second is therefore an orphan.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

from scopes.model.operation import Operation, RefChange
from scopes.store import refs as names
from scopes.store.error_translation import is_locked, refusal
from scopes.store.libgit2 import pygit2
from scopes.store.lock import LOCK_FILE
from scopes.store.repository import Repository

_ORPHAN_AFTER_SECONDS = 1.0
_TRIES = 5


def finish_pending(repository: Repository) -> Operation | None:
    """Roll the committed operation forward, if there is one; call it under the exclusive lock.

    Raises:
        Inaccessible: the disk is still in the way; the operation stays committed and readers see it.
    """
    marker = repository.raw_ref(names.PENDING)
    pending = repository.find_pending(marker, repository.raw_ref(names.OPERATIONS))
    if pending is None:
        if marker is not None:
            set_ref(repository, RefChange(names.PENDING, marker, None), "finished before")
        return None
    commit, operation = pending
    move_refs(repository, operation, commit)
    return operation


def move_refs(repository: Repository, operation: Operation, commit: str) -> None:
    """Bring every ref of a committed operation to its new value, then the log, then take the marker away.

    An operation that moves the log itself is not written into it.
    Deletions go first, so that a name can become a directory of names. Doing it again is harmless.
    """
    reason = f"{operation.kind}: {operation.summary}"
    for change in sorted(operation.changes, key=lambda change: change.new is not None):
        set_ref(repository, change, reason)
    previous = repository.raw_ref(names.OPERATIONS)
    if previous != commit and all(change.ref != names.OPERATIONS for change in operation.changes):
        set_ref(repository, RefChange(names.OPERATIONS, previous, commit), reason)
    set_ref(repository, RefChange(names.PENDING, commit, None), reason)


def set_ref(repository: Repository, change: RefChange, reason: str) -> None:
    """Bring one ref from its old to its new value; nothing happens where it has the new one already.

    A ref that has neither (a plain git command moved it meanwhile) is left as it is, for `verify` to report.
    """
    for turns_left in reversed(range(_TRIES)):
        current = repository.raw_ref(change.ref)
        if current == change.new or current != change.old:
            return
        try:
            _set(repository.git, change.ref, change.new, current, reason)
        except (pygit2.GitError, OSError, ValueError) as error:
            # libgit2 takes a ref out of its copy of packed-refs before it fails to write the file, and next time has
            # nothing to write.
            repository.git.set_refdb(pygit2.Refdb.open(repository.git))
            if not (is_locked(error) and turns_left):
                raise refusal(f"move the ref {change.ref}", repository.path, error, writing=True) from error
            remove_orphan_lock(repository, change.ref)


def _set(git: pygit2.Repository, ref: str, new: str | None, current: str | None, reason: str) -> None:
    existing = git.references.get(ref) if current is not None else None
    if existing is not None and new is not None and _is_symbolic(current) != _is_symbolic(new):
        existing.delete()  # git's mirror clones make symbolic refs direct, and libgit2 changes no kind
        existing = None
    if new is None:
        if existing is not None:
            existing.delete()
    elif new.startswith(names.SYMBOLIC):
        target = new.removeprefix(names.SYMBOLIC)
        if existing is None:
            git.create_reference_symbolic(ref, target, force=False, message=reason)
        else:
            existing.set_target(target, reason)
    elif existing is None:
        git.create_reference_direct(ref, pygit2.Oid(hex=new), force=False, message=reason)
    else:
        existing.set_target(pygit2.Oid(hex=new), reason)


def _is_symbolic(value: str | None) -> bool:
    return (value or "").startswith(names.SYMBOLIC)


def remove_orphan_lock(repository: Repository, ref: str) -> None:
    """Remove the lock files in a ref's way once they prove to be orphans."""
    remove_orphans(os.path.join(repository.path, name) for name in (f"{ref}.lock", "packed-refs.lock"))


def remove_orphans(paths: Iterable[str]) -> list[str]:
    """Remove those files that stay the same for a second; return them. Files that live on are left alone."""
    before = {path: seen for path in paths if (seen := _identity(path)) is not None}
    deadline = time.monotonic() + _ORPHAN_AFTER_SECONDS
    while before and time.monotonic() < deadline:
        time.sleep(0.05)
        before = {path: seen for path, seen in before.items() if _identity(path) == seen}
    for path in before:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return list(before)


def list_leftovers(repository: Repository) -> Iterator[str]:
    """Yield paths, relative to the store, of lock files and temporary files that a dead process left."""
    for top, _, files in os.walk(repository.path):
        for name in sorted(files):
            path = os.path.relpath(os.path.join(top, name), repository.path)
            # Below objects/ only: a branch may be called tmp_x.
            is_temporary = path.startswith("objects/") and name.startswith(("tmp_", ".tmp-"))
            # git packs no refs any more while its unfinished file is there.
            if is_temporary or path == "packed-refs.new" or (name.endswith(".lock") and path != LOCK_FILE):
                yield path


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
