"""Let the sessions of one directory be imported in the order in which their turns ended.

A fork begins with copies of the messages of its original. Who is imported first has them on `main`, and the other one
becomes a branch. The hooks of both may be called at nearly the same time, and their processes start as they can.
"""

from __future__ import annotations

import os
import time
from binascii import crc32
from contextlib import suppress

from scopes.live.file_lock import acquire_lock, release_lock

_MAX_WAIT_SECONDS = 30.0  # then the process in front has a problem of its own
_LOOK_AGAIN_SECONDS = 0.05


class TurnOrder:
    """A place in the order of turns, named by what they have in common; it ends with `release`, or with the process.

    The agent waits until it is made, so that a hook that is called later comes behind this one.
    """

    def __init__(self, locks: str, *names: bytes) -> None:
        self._path = os.path.join(locks, f"order-{crc32(bytes(1).join(names)):08x}")
        with suppress(OSError):
            os.makedirs(locks, mode=0o700, exist_ok=True)
        self._descriptor = self._try()

    @property
    def descriptor(self) -> int | None:
        """The open file of the lock, if this turn is the first one."""
        return self._descriptor

    def wait(self) -> None:
        """Wait until the turns before this one are imported, or that takes too long."""
        end = time.monotonic() + _MAX_WAIT_SECONDS
        while self._descriptor is None and time.monotonic() < end:
            time.sleep(_LOOK_AGAIN_SECONDS)
            self._descriptor = self._try()

    def release(self) -> None:
        """Let the next turn be imported."""
        if self._descriptor is not None:
            release_lock(self._path, self._descriptor)
            self._descriptor = None

    def _try(self) -> int | None:
        with suppress(OSError):
            return acquire_lock(self._path, wait=False)
        return None
