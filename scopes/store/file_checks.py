"""Check the files of a store that libgit2 opens by itself: it would wait for ever on a named pipe or read a device.

A store that somebody else made can contain anything. What scopes itself opens is opened by `regular_file`; files that
reach outside the store are refused by `containment`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from scopes.errors import Corrupt
from scopes.regular_file import MAX_CONFIG_BYTES, UnusableFile, check_regular, read_regular
from scopes.store.error_translation import REMOVE
from scopes.store.packed_refs import MAX_PACKED_REFS_BYTES
from scopes.store.raw_refs import MAX_REF_BYTES
from scopes.store.refs import SYMBOLIC

_LIMITS: dict[str, int] = {
    "config": MAX_CONFIG_BYTES,
    "config.worktree": MAX_CONFIG_BYTES,
    "HEAD": MAX_REF_BYTES,
    "commondir": MAX_REF_BYTES,
    "shallow": MAX_CONFIG_BYTES,
    "packed-refs": MAX_PACKED_REFS_BYTES,
}
_MAX_LINKS = 5
QUARANTINE_PREFIX: Final = "scopes-incoming-"


def check_store_files(path: str) -> None:
    """Check every file that libgit2 reads when it opens a store or looks up an object.

    Raises:
        Corrupt: one of them is not a regular file, or is far too large; the error names it.
        OSError: one of them cannot be looked at.
    """
    try:
        for name, limit in _LIMITS.items():
            check_regular(os.path.join(path, name), limit)
        _check_objects(os.path.join(path, "objects"))
    except UnusableFile as error:
        raise _named(path, error) from error


def check_ref(path: str, name: str) -> None:
    """Check the files in which libgit2 looks for one ref.

    Raises:
        Corrupt: one of them is not a regular file, or is far too large; the error names it.
        OSError: one of them cannot be looked at.
    """
    try:
        check_regular(f"{path}/packed-refs", MAX_PACKED_REFS_BYTES)
        check_regular(f"{path}/{name}", MAX_REF_BYTES, allow_directory=True)
    except UnusableFile as error:
        raise _named(path, error) from error


def check_ref_updates(path: str, names: Iterable[str]) -> None:
    """Check the files that libgit2 reads and writes when it moves refs: the reflogs, and the refs of HEAD.

    libgit2 opens them while signals are deferred and the lock is held. It follows symbolic links, so a link would make
    it write into a file outside the store.

    Raises:
        As `check_ref`; also Corrupt if a reflog or a directory on the way to it is a symbolic link.
    """
    names = tuple(names)
    try:
        check_regular(f"{path}/packed-refs", MAX_PACKED_REFS_BYTES)
        for name in names:
            check_regular(f"{path}/{name}", MAX_REF_BYTES, allow_directory=True)
        _check_no_links(path, _ways_to(names))
        _check_head(path)
    except UnusableFile as error:
        raise _named(path, error) from error


def check_all(path: str) -> None:
    """Check that a store contains nothing but directories and regular files, before the git program reads all of them.

    Quarantines are left out: git does not read them with the store, and what it serves in one may be a link.

    Raises:
        Corrupt: the first other file; the error names it.
    """
    try:
        for top, directories, files in os.walk(path):
            if top == path:
                directories[:] = [name for name in directories if not name.startswith(QUARANTINE_PREFIX)]
            for name in (*directories, *files):
                full = os.path.join(top, name)
                if name in files or os.path.islink(full):
                    check_regular(full)
    except UnusableFile as error:
        raise _named(path, error) from error


def _named(path: str, error: UnusableFile) -> Corrupt:
    where = os.path.relpath(error.filename, path)
    return Corrupt(f"cannot read {where} in the store {path}: {error.strerror}", hint=REMOVE)


@lru_cache(maxsize=64)
def _ways_to(names: tuple[str, ...]) -> Sequence[tuple[str, bool]]:
    """Return each file and directory on the way to the refs and to their reflogs, and whether it is a reflog."""
    logs = {f"logs/{name}": True for name in (*names, "HEAD")}
    ways = {
        way: False for name in (*logs, *names) for way in accumulate(os.path.dirname(name).split("/"), os.path.join)
    }
    return tuple((ways | logs).items())


def _check_no_links(path: str, ways: Iterable[tuple[str, bool]]) -> None:
    """Check that files are no symbolic links; a reflog must be missing, a regular file or a directory.

    It is done for each append, and a call for each of the files would take a fifth of the time.
    """
    for name, is_log in ways:
        full = f"{path}/{name}"
        try:
            mode = os.lstat(full).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError):
            mode = 0
        if stat.S_ISLNK(mode):
            raise Corrupt(f"{name} in the store {path} is a symbolic link", hint=REMOVE)
        if is_log and not stat.S_ISREG(mode):
            check_regular(full, allow_directory=True)


def _check_head(path: str) -> None:
    """Check HEAD and the refs that it points to, except `packed-refs`."""
    name = "HEAD"
    for _ in range(_MAX_LINKS):
        full = f"{path}/{name}"
        try:
            status = os.stat(full)
            text = _read_ref(full, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            check_regular(full, MAX_REF_BYTES, allow_directory=True)
            return
        if not text.startswith(SYMBOLIC):
            return
        name = text.removeprefix(SYMBOLIC).strip()


@lru_cache(maxsize=16)
def _read_ref(path: str, _stamp: tuple[int, ...]) -> str:
    """Return the content of the file of a ref; a file with the same stamp is not read again."""
    return read_regular(path, MAX_REF_BYTES).decode("utf-8", "surrogateescape")


def _check_objects(directory: str) -> None:
    """Check the packs, and the files about them, of an object directory."""
    for folder in ("pack", "info"):
        try:
            with os.scandir(os.path.join(directory, folder)) as entries:
                unusual = [entry.path for entry in entries if not entry.is_file(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            continue
        for path in unusual:
            check_regular(path, allow_directory=True)
