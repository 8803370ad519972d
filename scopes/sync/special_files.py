"""Refuse named pipes and devices in the directory of a remote: git would wait for them, or read without end.

Git follows symbolic links, and so does this, up to a number of directories. Alternates are not searched. A socket, such
as that of git's fsmonitor, is harmless: it cannot be opened as a file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

from scopes.errors import Inaccessible

_MAX_DIRECTORIES: Final = 20_000  # a link may lead to the whole file system


def require_no_special_files(directory: str) -> None:
    """Refuse a directory that git is to serve if it has a named pipe or a device.

    Raises:
        Inaccessible: with the path of the first one.
    """
    inner = os.path.join(directory, ".git")
    found = next(_walk_special(inner if os.path.lexists(inner) else directory, set()), None)
    if found is not None:
        what = f"{found} is a named pipe or a device: git would wait for it"
        raise Inaccessible(what, hint="see who put it there, and remove it")


def _walk_special(path: str, seen: set[tuple[int, int]]) -> Iterator[str]:
    """Yield named pipes and devices; a directory that has several paths is searched once."""
    try:
        status = os.stat(path)
    except OSError:  # a dangling link
        return
    if not stat.S_ISDIR(status.st_mode):
        yield from (path,) if _is_special(status.st_mode) else ()
        return
    directory = status.st_dev, status.st_ino
    if directory in seen or len(seen) >= _MAX_DIRECTORIES:
        return
    seen.add(directory)
    try:
        entries = [*os.scandir(path)]
    except OSError:
        return  # git says why it cannot read it
    for entry in entries:
        if not entry.is_file(follow_symlinks=False):
            yield from _walk_special(entry.path, seen)


def _is_special(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
