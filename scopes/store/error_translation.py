"""The border with libgit2 and the operating system: their failures become ours here, once.

libgit2's own text is often stale or about something else, so it is matched but never shown as the cause.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from scopes.errors import Busy, Corrupt, Inaccessible, ScopesError
from scopes.store.libgit2 import pygit2

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM}
# libgit2 puts paths between quotes, and a path may hold any of these words.
_QUOTED = re.compile(r"'.*'", re.DOTALL)
_MOVED = ("old reference value does not match", "already exists", "reference '' not found")
# It looks for a lock file first and then creates one, so a held lock has two texts; "is locked" is what it says of a
# file that may not be looked at.
_LOCKED = re.compile(r"failed to lock file|failed to create locked file .*: file exists")


def is_moved(error: BaseException) -> bool:
    """Tell whether a ref update failed because somebody moved the ref first."""
    text = _words(error)
    return any(words in text for words in _MOVED)


def is_locked(error: BaseException) -> bool:
    """Tell whether a ref update failed because the ref's lock file exists."""
    return _LOCKED.search(_words(error)) is not None


def is_missing(error: BaseException) -> bool:
    """Tell whether something failed because a file or directory was not there."""
    return _words(error).endswith(os.strerror(errno.ENOENT).lower())


def _words(error: BaseException) -> str:
    return _QUOTED.sub("''", str(error)).lower()


@contextmanager
def translated(what: str, directory: str) -> Iterator[None]:
    """Turn a failure of libgit2 or the system into a refusal that says what we were doing."""
    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise refusal(what, directory, error) from error


def refusal(what: str, directory: str, error: BaseException, *, writing: bool = False) -> ScopesError:
    """Choose the refusal for a foreign failure while doing `what` in the store at `directory`.

    Where nothing tells the cause, stored data is damaged, but for `writing`, which needs none.
    """
    if is_locked(error):
        return Busy(f"cannot {what}: another program is writing there", hint="try again in a moment")
    code = error.errno if isinstance(error, OSError) and error.errno else _guess(error, directory)
    if code in _FULL:
        return Inaccessible(f"cannot {what}: the disk is full", hint=f"free some space on the disk of {directory}")
    if code == errno.EROFS:
        return Inaccessible(f"cannot {what}: the file system is read-only", hint="reading still works")
    if code in _DENIED:
        return Inaccessible(f"cannot {what}: permission denied", hint=f"check who owns {directory} and its files")
    missing = isinstance(error, KeyError)
    if not missing and (code or writing):
        reason = os.strerror(code) if code else "the disk refuses, or a limit on the size of files"
        return Inaccessible(f"cannot {what}: {reason}", hint=f"check the disk of {directory}")
    damage = "an object is missing from the store" if missing else "stored data is damaged or the disk failed"
    return Corrupt(f"cannot {what}: {damage}", hint="see: scopes verify")


def _guess(error: BaseException, directory: str) -> int:
    """Find the system's error behind a libgit2 text; where the text does not say, ask the file system."""
    text = _words(error)
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
