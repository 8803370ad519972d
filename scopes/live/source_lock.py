"""Let one process at a time import a source into a store, and at most one wait for it.

A process that finds another one waiting has nothing to do: the waiting one begins later, so it will read all that is in
the source now. So ten ends of a turn in one second are two imports, and the last turn is in the second one. The kernel
releases the locks of a process that dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

_MAX_ATTEMPTS = 100


@contextmanager
def source_lock(directory: str, *names: str) -> Iterator[bool]:
    """Hold the lock of a source, named by what identifies it; yield False, at once, if another process waits for it.

    Raises:
        OSError: the directory of the locks cannot be written, its file system has no locks, or the file of the lock is
            replaced whenever it is locked.
    """
    os.makedirs(directory, mode=0o700, exist_ok=True)
    name = sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    path = os.path.join(directory, name)
    waiting = None
    with suppress(BlockingIOError):
        waiting = _acquire(f"{path}.waiting", wait=False)
    if waiting is None:
        yield False
        return
    try:
        running = _acquire(f"{path}.running", wait=True)
    finally:
        _release(f"{path}.waiting", waiting)
    try:
        yield True
    finally:
        _release(f"{path}.running", running)


def _acquire(path: str, *, wait: bool) -> int:
    """Return the descriptor of a locked file.

    Raises:
        BlockingIOError: another process has the lock, and `wait` is False.
        OSError: as `source_lock`.
    """
    for _ in range(_MAX_ATTEMPTS):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)  # whoever had the lock has deleted the file
    raise OSError(errno.EBUSY, "the file of a lock was replaced each time it was locked", path)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def _release(path: str, descriptor: int) -> None:
    with suppress(OSError):
        os.unlink(path)
    os.close(descriptor)
