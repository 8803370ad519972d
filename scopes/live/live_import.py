"""Import a source while its agent works: after it has become quiet, and again if it grows meanwhile.

Agents start a hook at the end of a turn, and some write the last lines of the turn a moment later.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from scopes.errors import Busy
from scopes.importers.results import Imported

ImportNow: TypeAlias = Callable[[Sequence[str]], Imported]
Signature: TypeAlias = tuple[tuple[int, int], ...]
_QUIET_SECONDS = 0.1  # without a change
_MAX_WAIT_SECONDS = 3.0
_LOOK_AGAIN_SECONDS = 0.7
_MAX_IMPORTS = 20
_MAX_BUSY = 20  # each of them waits for the lock of the store as long as a command does


class Recorded(NamedTuple):
    """What became of a source: the conversations it is in, and the number of messages that are new there."""

    conversations: tuple[str, ...]
    messages: int


def import_when_quiet(
    paths: Sequence[str], import_now: ImportNow, sleep: Callable[[float], None] = time.sleep
) -> Recorded:
    """Import files that an agent may still be writing; return what all imports together have found.

    Raises:
        As `import_now`.
    """
    conversations: dict[str, None] = {}
    messages = 0
    for _ in range(_MAX_IMPORTS):
        before = _wait_until_quiet(paths, sleep)
        imported = _import_patiently(paths, import_now, sleep)
        conversations |= dict.fromkeys(row.id for row in imported.conversations)
        messages += sum(row.new_messages for row in imported.conversations)
        sleep(_LOOK_AGAIN_SECONDS)
        if sign_files(paths) == before:
            break
    return Recorded(tuple(conversations), messages)


def _import_patiently(paths: Sequence[str], import_now: ImportNow, sleep: Callable[[float], None]) -> Imported:
    """Import files, again and again while another process keeps the store busy: nobody waits for this one."""
    for _ in range(_MAX_BUSY):
        try:
            return import_now(paths)
        except Busy:
            sleep(_LOOK_AGAIN_SECONDS)
    return import_now(paths)


def sign_files(paths: Sequence[str]) -> Signature:
    """Return what changes when a file is written: size and time; zeros for one that is not there."""
    return tuple(map(_sign, paths))


def _sign(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _wait_until_quiet(paths: Sequence[str], sleep: Callable[[float], None]) -> Signature:
    before = sign_files(paths)
    for _ in range(int(_MAX_WAIT_SECONDS / _QUIET_SECONDS)):
        sleep(_QUIET_SECONDS)
        now = sign_files(paths)
        if now == before:
            break
        before = now
    return before
