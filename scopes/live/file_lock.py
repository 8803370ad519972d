"""Locks of files that are deleted when they are released; the kernel releases those of a process that dies."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress

_MAX_ATTEMPTS = 100


def acquire_lock(path: str, *, wait: bool) -> int:
    """Return the descriptor of a locked file.

    Raises:
        BlockingIOError: another process has the lock, and `wait` is False.
        OSError: the file system has no locks, or the file is replaced whenever it is locked.
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


def release_lock(path: str, descriptor: int) -> None:
    """Delete the file of a lock, and let it go."""
    with suppress(OSError):
        os.unlink(path)
    os.close(descriptor)
