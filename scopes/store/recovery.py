"""Recover from dead processes: finish a committed operation, and remove orphaned lock files.

All of this runs under the exclusive lock, so no other scopes process holds the lock file of a ref; a git program holds
one for milliseconds. A lock file that does not change for a second is therefore an orphan.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from itertools import takewhile

from scopes.ids import Oid
from scopes.loading import load
from scopes.model.operation import Operation, RefChange
from scopes.regular_file import read_regular
from scopes.store import refs
from scopes.store.error_translation import is_locked, refusal
from scopes.store.git_program import PRIVATE_PREFIX
from scopes.store.libgit2 import pygit2
from scopes.store.locks import LOCK_FILE
from scopes.store.objects import one_line
from scopes.store.quarantine import QUARANTINE_PREFIX, list_abandoned
from scopes.store.repository import Repository, read_commit, read_operation

_ORPHAN_AFTER_SECONDS = 1.0
_TRIES = 5
_MAX_REASON = 1000  # characters of a line of a reflog
_MANY_REFS = 100  # in an operation, that are worth to rewrite `packed-refs`
_MAX_REFLOG_BYTES = 256 << 20  # about a million appends


def finish_pending(repository: Repository) -> Operation | None:
    """Finish the pending operation, if there is one, and return it; call it under the exclusive lock.

    Its process died, or could not move all refs. One that had only its marker left to delete is returned as well.

    Raises:
        Inaccessible: a ref cannot be written; the operation stays committed, and readers see it.
    """
    marker, last = repository.raw_ref(refs.PENDING), repository.raw_ref(refs.OPERATIONS)
    pending = repository.find_pending(marker, last)
    if pending is None:
        if marker is not None:
            set_ref(repository, RefChange(refs.PENDING, marker, None), "finished before")
        return (
            None if last is None or marker != last else read_operation(repository, read_commit(repository, Oid(last)))
        )
    commit, operation = pending
    move_refs(repository, operation, commit)
    return operation


def move_refs(repository: Repository, operation: Operation, commit: str) -> None:
    """Set every ref of a committed operation to its new value, then the operation log, then delete the marker ref.

    An operation that moves the log itself (expire) is not recorded in it. Deletions come first, so that a name can
    become a directory of names. The reflog of the operation log also has the ids, which completion offers. Repeating
    this is harmless.
    """
    reason = one_line(f"{operation.kind}: {operation.summary}", _MAX_REASON)  # a name in it may have any character
    _copy_reflogs(repository, operation)
    if len(operation.changes) >= _MANY_REFS:
        load("scopes.store.many_refs:move_many")(repository, operation.changes, reason)
    for change in sorted(operation.changes, key=lambda change: change.new is not None):
        set_ref(repository, change, reason)
    previous = repository.raw_ref(refs.OPERATIONS)
    if previous != commit and all(change.ref != refs.OPERATIONS for change in operation.changes):
        set_ref(repository, RefChange(refs.OPERATIONS, previous, commit), f"{reason} [{operation.id}]")
    set_ref(repository, RefChange(refs.PENDING, commit, None), reason)


def _copy_reflogs(repository: Repository, operation: Operation) -> None:
    """Copy the reflogs of branches that get another name, because git deletes a reflog with its ref.

    A copy that fails is left out, such as that of `x` which becomes `x/y`: only `undo` of its appends and times such as
    `main@{yesterday}` need it.
    """
    for new_name, source in renamed_branches(operation.changes).items():
        with contextlib.suppress(OSError):
            if os.path.isfile(_reflog_path(repository, source)):
                _write_reflog(repository, new_name, _read_reflog(_reflog_path(repository, source)))


def renamed_branches(changes: Iterable[RefChange]) -> dict[str, str]:
    """Return the former names of the branches that an operation renames, trashes or restores, by new name."""
    listed = [change for change in changes if _is_branch(change.ref)]
    removed = {change.ref: change.old for change in listed if change.new is None}
    renamed: dict[str, str] = {}
    for change in listed:
        sources = [ref for ref, value in removed.items() if value == change.new]
        if change.old is None and sources:
            renamed[change.ref] = max(sources, key=lambda ref: _count_common_names(ref, change.ref))
    return renamed


def _write_reflog(repository: Repository, ref: str, data: bytes) -> None:
    """Write the reflog of a ref that does not exist yet; raise OSError if that fails."""
    path = _reflog_path(repository, ref)
    if repository.raw_ref(ref) is None:  # else an earlier try moved it
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write_file(path, data)


def _read_reflog(path: str) -> bytes:
    return read_regular(path, _MAX_REFLOG_BYTES)


def _write_file(path: str, data: bytes) -> None:
    """Write a file of the store, but never through a symbolic link or into a pipe."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)


def _reflog_path(repository: Repository, ref: str) -> str:
    return os.path.join(repository.path, "logs", ref)


def _is_branch(ref: str) -> bool:
    return ref.startswith((refs.HEADS, refs.TRASH))


def _count_common_names(one: str, two: str) -> int:
    """Return how many names at the end of two refs are equal."""
    pairs = zip(reversed(one.split("/")), reversed(two.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def set_ref(repository: Repository, change: RefChange, reason: str) -> None:
    """Move one ref from its old to its new value; do nothing if it already has the new value.

    A ref with a third value (a git command moved it in the meantime) is not changed; `verify` reports it.
    """
    for turns_left in reversed(range(_TRIES)):
        current = repository.raw_ref(change.ref)
        if current == change.new or current != change.old:
            return
        try:
            _set(repository.git, change.ref, change.new, current, reason)
        except (pygit2.GitError, OSError, ValueError) as error:
            # libgit2 removes a ref from its copy of packed-refs before it fails to write the file, and would then find
            # nothing to remove.
            repository.git.set_refdb(pygit2.Refdb.open(repository.git))
            if not (is_locked(error) and turns_left):
                raise refusal(f"move the ref {change.ref}", repository.path, error, writing=True) from error
            remove_orphan_lock(repository, change.ref)


def _set(git: pygit2.Repository, ref: str, new: str | None, current: str | None, reason: str) -> None:
    existing = git.references.get(ref) if current is not None else None
    if existing is not None and new is not None and _is_symbolic(current) != _is_symbolic(new):
        existing.delete()  # a mirror clone made it direct, and libgit2 cannot change the kind of a ref
        existing = None
    if new is None:
        if existing is not None:
            existing.delete()
    elif new.startswith(refs.SYMBOLIC):
        target = new.removeprefix(refs.SYMBOLIC)
        if existing is None:
            git.create_reference_symbolic(ref, target, force=False, message=reason)
        else:
            existing.set_target(target, reason)
    elif existing is None:
        git.create_reference_direct(ref, pygit2.Oid(hex=new), force=False, message=reason)
    else:
        existing.set_target(pygit2.Oid(hex=new), reason)


def _is_symbolic(value: str | None) -> bool:
    return (value or "").startswith(refs.SYMBOLIC)


def remove_orphan_lock(repository: Repository, ref: str) -> None:
    """Remove the lock files that block a ref, if they are orphans."""
    remove_orphans(os.path.join(repository.path, name) for name in (f"{ref}.lock", "packed-refs.lock"))


def remove_orphans(paths: Iterable[str]) -> list[str]:
    """Remove those of the files and directories that do not change for a second, and return their paths."""
    orphans = find_orphans(paths)
    for path in orphans:
        with contextlib.suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)  # a private directory of git, see git_program
            else:
                os.unlink(path)
    return orphans


def find_orphans(paths: Iterable[str]) -> list[str]:
    """Return those of the files and directories that do not change for a second."""
    unchanged = {path: found for path in paths if (found := _identity(path)) is not None}
    deadline = time.monotonic() + _ORPHAN_AFTER_SECONDS
    is_over = False
    while unchanged and not is_over:
        time.sleep(0.05)
        is_over = time.monotonic() >= deadline  # before the last look: this process may have been held up until now
        unchanged = {path: found for path, found in unchanged.items() if _identity(path) == found}
    return list(unchanged)


def list_orphans(repository: Repository) -> list[str]:
    """Return the leftovers that do not change for a second, relative to the store; call it under the exclusive lock."""
    orphans = find_orphans(os.path.join(repository.path, path) for path in list_leftovers(repository))
    return [os.path.relpath(path, repository.path) for path in orphans]


def list_leftovers(repository: Repository) -> Iterator[str]:
    """Yield the lock files, temporary files and directories that a dead process left, relative to the store."""
    for top, directories, files in os.walk(repository.path):
        if top == repository.path:
            yield from sorted(name for name in directories if name.startswith(PRIVATE_PREFIX))
            yield from list_abandoned(top)
            directories[:] = [name for name in directories if not name.startswith((PRIVATE_PREFIX, QUARANTINE_PREFIX))]
        for name in sorted(files):
            path = os.path.relpath(os.path.join(top, name), repository.path)
            # only below objects/: a branch may be called tmp_x
            is_temporary = path.startswith("objects/") and name.startswith(("tmp_", ".tmp-"))
            # git does not pack refs while this unfinished file exists
            if is_temporary or path == "packed-refs.new" or (name.endswith(".lock") and path != LOCK_FILE):
                yield path


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
