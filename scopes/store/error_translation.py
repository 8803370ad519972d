"""Translate errors of libgit2 and the operating system into exceptions of scopes.

The text of a libgit2 error is often stale or about something else, so it is matched but never shown.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from scopes.errors import Busy, Corrupt, Inaccessible, ScopesError
from scopes.regular_file import UnusableFile
from scopes.store.libgit2 import pygit2

REPAIR = "repair it: scopes repair"
REMOVE = "remove it, and see: scopes verify"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM}
# libgit2 puts paths between quotes, and a path may contain any of these words.
_QUOTED = re.compile(r"'.*'", re.DOTALL)
_MOVED = ("old reference value does not match", "already exists", "reference '' not found")
_MALFORMED_CONFIGURATION = re.compile(r"failed to parse config file: .*\(in (?P<file>.*):(?P<line>[0-9]+)\)")
# libgit2 looks for a lock file first and then creates one, so there are two texts for a held lock. Its text "is locked"
# means that it lacks the permission to look at the file.
_LOCKED = re.compile(r"failed to lock file|failed to create locked file .*: file exists")


def is_moved(error: BaseException) -> bool:
    """Return True if a ref update failed because another process moved the ref first."""
    text = _normalized(error)
    return any(phrase in text for phrase in _MOVED)


def is_locked(error: BaseException) -> bool:
    """Return True if a ref update failed because the ref's lock file exists."""
    return _LOCKED.search(_normalized(error)) is not None


def is_missing(error: BaseException) -> bool:
    """Return True if a call failed because a file or directory does not exist."""
    return _normalized(error).endswith(os.strerror(errno.ENOENT).lower())


def _normalized(error: BaseException) -> str:
    return _QUOTED.sub("''", str(error)).lower()


@contextmanager
def translated(what: str, directory: str) -> Iterator[None]:
    """Translate errors of libgit2 and the system that occur in the block; `what` completes "cannot ..."."""
    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise refusal(what, directory, error) from error


def refusal(what: str, directory: str, error: BaseException, *, writing: bool = False) -> ScopesError:
    """Return the exception for a foreign error; `what` completes "cannot ...", `directory` is the store.

    If the cause is unknown, stored data is damaged; while `writing`, the disk is at fault.
    """
    if isinstance(error, UnusableFile):
        where = os.path.relpath(error.filename, directory)
        return Corrupt(f"cannot {what}: {where} in {directory} cannot be read: {error.strerror}", hint=REMOVE)
    malformed = _MALFORMED_CONFIGURATION.search(str(error))
    if malformed is not None:
        hint = f"correct it: git config --file {malformed['file']} --edit"
        return Corrupt(
            f"the configuration file {malformed['file']} is malformed in line {malformed['line']}", hint=hint
        )
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
        reason = os.strerror(code) if code else "a disk error, or a limit on the size of files"
        return Inaccessible(f"cannot {what}: {reason}", hint=f"check the disk of {directory}")
    damage = "an object is missing from the store" if missing else "stored data is damaged or the disk failed"
    return Corrupt(f"cannot {what}: {damage}", hint="see: scopes verify")


def _guess(error: BaseException, directory: str) -> int:
    """Return the errno behind a libgit2 error, from its text or the state of the file system; 0 if unknown."""
    text = _normalized(error)
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
