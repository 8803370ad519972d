"""Who may write: one advisory lock over the whole store, shared for appends, exclusive for anything bigger.

A turnstile before the lock keeps a stream of appenders from starving whoever needs the store alone: everybody passes
it one at a time, and an exclusive taker stays in it until the last appender has left. The kernel lets go of both files
when their holder dies, however it dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from scopes.clock import jitter
from scopes.errors import Busy, Inaccessible

LOCK_FILE = "scopes.lock"
TURNSTILE_FILE = "scopes.turnstile"
DEFAULT_TIMEOUT_SECONDS = 30
_LONGEST_PAUSE_SECONDS = 0.01
_LONGEST_PID = 8  # characters; the file may hold anything, and `kill` takes no larger numbers


class StoreLock:
    """The lock of one store; not reentrant, one per open repository."""

    def __init__(self, directory: str, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS) -> None:
        self._directory = directory
        self._timeout_seconds = timeout_seconds

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the store together with other appenders.

        Raises:
            Busy: somebody keeps the store for himself longer than the timeout.
            Inaccessible: the lock file cannot be made here.
        """
        with self._hold(fcntl.LOCK_SH):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the store alone.

        Raises:
            Busy, Inaccessible: as for `shared`.
        """
        with self._hold(fcntl.LOCK_EX) as lock:
            _sign(lock, f"{os.getpid()}\n")
            try:
                yield
            finally:
                _sign(lock, "")

    @contextmanager
    def _hold(self, how: int) -> Iterator[int]:
        deadline = time.monotonic() + self._timeout_seconds
        mask = os.umask(0o077)  # everything below is written while the lock is held, and is the user's alone
        try:
            lock = self._open(LOCK_FILE)
            try:
                turnstile = self._open(TURNSTILE_FILE)
                try:
                    self._take(turnstile, fcntl.LOCK_EX, deadline)
                    self._take(lock, how, deadline)
                finally:
                    os.close(turnstile)
                yield lock
            finally:
                os.close(lock)
        finally:
            os.umask(mask)

    def _open(self, name: str) -> int:
        path = os.path.join(self._directory, name)
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Inaccessible(
                f"cannot lock the store for writing: {os.strerror(error.errno or 0)} ({path})",
                hint="reading still works; check the permissions and the free space of the store's disk",
            ) from error

    def _take(self, descriptor: int, how: int, deadline: float) -> None:
        pause = 0.0005
        while True:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                    raise Inaccessible(
                        f"the file system of {self._directory} has no working file locks",
                        hint="keep the store on a local disk and name it with --store",
                    ) from error
            else:
                return
            if time.monotonic() > deadline:
                raise Busy(f"the store is busy{self._holder()}", hint="try again in a moment")
            time.sleep(pause * (0.5 + jitter()))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _holder(self) -> str:
        """Name the process that holds the lock exclusively, where it lives."""
        try:
            with open(os.path.join(self._directory, LOCK_FILE), encoding="ascii") as file:
                pid = int(file.read(_LONGEST_PID))
            if pid <= 0:
                return ""
            os.kill(pid, 0)
        except (OSError, ValueError):
            return ""
        return f": process {pid} holds it"


def _sign(descriptor: int, text: str) -> None:
    """Put a text into the lock file, for the message of whoever waits; a full disk does not matter here."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
    except OSError:
        return
