"""The border with libgit2 and the operating system: their failures become ours here, once.

libgit2's own text is often stale or about something else, so it is matched but never shown as the cause.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pygit2

from scopes.errors import Corrupt, Inaccessible, ScopesError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM}
# A held lock is an OSError from the C extension and a GitError from transactions, each with its own text.
_MOVED = ("old reference value does not match", "reference with that name already exists", "already exists")
_LOCKED = ("failed to lock", "failed to create locked file", "is locked", "unable to lock")


def is_moved(error: BaseException) -> bool:
    """Tell whether a ref update failed because somebody moved the ref first."""
    text = str(error).lower()
    return any(words in text for words in _MOVED) and not is_locked(error)


def is_locked(error: BaseException) -> bool:
    """Tell whether a ref update failed because the ref's lock file exists."""
    text = str(error).lower()
    return any(words in text for words in _LOCKED) and ("exist" in text or "locked" in text)


@contextmanager
def translated(what: str, directory: str) -> Iterator[None]:
    """Turn a failure of libgit2 or the system into a refusal that says what we were doing."""
    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise refusal(what, directory, error) from error


def refusal(what: str, directory: str, error: BaseException) -> ScopesError:
    """Choose the refusal for a foreign failure while doing `what` in the store at `directory`."""
    code = error.errno if isinstance(error, OSError) and error.errno else _guess(error, directory)
    if code in _FULL:
        return Inaccessible(f"cannot {what}: the disk is full", hint=f"free some space on the disk of {directory}")
    if code == errno.EROFS:
        return Inaccessible(f"cannot {what}: the file system is read-only", hint="reading still works")
    if code in _DENIED:
        return Inaccessible(f"cannot {what}: permission denied", hint=f"check who owns {directory} and its files")
    if isinstance(error, KeyError):
        return Corrupt(f"cannot {what}: an object is missing from the store", hint="see: scopes verify")
    if code:
        return Inaccessible(f"cannot {what}: {os.strerror(code)}", hint=f"check the disk of {directory}")
    return Corrupt(f"cannot {what}: stored data is damaged or the disk failed", hint="see: scopes verify")


def _guess(error: BaseException, directory: str) -> int:
    """Find the system's error behind a libgit2 text; where the text does not say, ask the file system."""
    text = str(error).lower()
    for code in (*_FULL, errno.EROFS, *_DENIED, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        if os.strerror(code).lower() in text:
            return code
    try:
        room = os.statvfs(directory)
    except OSError as problem:
        return problem.errno or 0
    if room.f_bavail * room.f_frsize < 1 << 16 or (room.f_files and room.f_favail < 4):
        return errno.ENOSPC
    return errno.EROFS if room.f_flag & os.ST_RDONLY else 0
