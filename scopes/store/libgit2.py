"""Import pygit2 without `ssl`, and translate its errors.

Loading all certificates of the system takes 18 ms of each command, and scopes uses no network through libgit2. While
pygit2 is imported, a stub of `ssl` answers the one question that pygit2 asks, where the certificates are, with a
directory that is read only when needed. Every module of this package imports pygit2 from here; a test checks in a fresh
process that `ssl` is not imported.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import NamedTuple

from scopes.errors import Busy, Corrupt, Inaccessible, ScopesError
from scopes.regular_file import UnusableFile

__all__ = ["pygit2"]
_WINDOW_BYTES = 1 << 20
_MAPPED_BYTES = 8 << 20
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


class DefaultVerifyPaths(NamedTuple):
    """The two fields of `ssl.DefaultVerifyPaths` that pygit2 reads."""

    cafile: str | None = None
    capath: str | None = "/etc/ssl/certs"


class _Stub(ModuleType):
    DefaultVerifyPaths = DefaultVerifyPaths
    get_default_verify_paths = DefaultVerifyPaths


_ssl = sys.modules.setdefault("ssl", _Stub("ssl"))
try:
    import pygit2
finally:
    if isinstance(_ssl, _Stub):
        del sys.modules["ssl"]

# Otherwise libgit2 prefers a repository `.git` inside the store.
OPEN_EXACTLY_HERE = pygit2.enums.RepositoryOpenFlag.NO_SEARCH | pygit2.enums.RepositoryOpenFlag.NO_DOTGIT


def skip_unreadable_home() -> None:
    """Keep libgit2 from failing if this process may not read the home directory."""
    level = pygit2.enums.ConfigLevel.GLOBAL
    home = pygit2.settings.search_path[level]
    if any(part and os.path.isdir(part) and not os.access(part, os.X_OK) for part in home.split(os.pathsep)):
        pygit2.settings.search_path[level] = ""


def limit_mapped_packs() -> None:
    """Limit how much of each pack libgit2 maps into the memory of this process from now on: by default whole packs."""
    pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = _WINDOW_BYTES, _MAPPED_BYTES


def limit_memory() -> None:
    """Limit the memory of libgit2 for a command that reads the whole store, once: no copies of commits and trees."""
    limit_mapped_packs()
    pygit2.settings.enable_caching(False)


def library_versions() -> str:
    """Return the names and versions of the git libraries."""
    return f"pygit2 on libgit2 {pygit2.LIBGIT2_VERSION}"


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
