"""Files that are being written under another name: a killed process leaves them, the next one that writes deletes them.

Whoever writes one holds a lock on it, so that the file of a running process stays.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from typing import Final

from scopes.clock import new_id

_ID: Final = "[a-z2-7]{26}"


def part_of(path: str) -> str:
    """Return a new name for a file that becomes `path`, in the same directory."""
    return f"{path}.{new_id()}.part"


def lock_part(descriptor: int) -> None:
    """Say that a file is being written, until it is closed; some file systems have no locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def remove_parts(path: str) -> None:
    """Delete what killed processes left of files that were to become `path`; what cannot be deleted stays."""
    folder, name = os.path.split(path)
    part = re.compile(rf"{re.escape(name)}\.{_ID}\.part")
    with suppress(OSError):
        for found in filter(part.fullmatch, os.listdir(folder or os.curdir)):
            with suppress(OSError):
                _remove_unlocked(os.path.join(folder, found))


def _remove_unlocked(path: str) -> None:
    """Delete a file, unless a process holds a lock on it."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(descriptor)
