"""The lock of a store, locks of running sessions, orphaned lock files, and signals that must not come in the middle.

Appends hold the lock of a store together; everything else holds it alone. A turnstile lets whoever waits for it alone
come before later appends.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, in a tenth of its time
import errno
import fcntl
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Final

from scopes.clock import jitter
from scopes.errors import Busy, Inaccessible
from scopes.regular_file import open_regular

_DEFERRED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
LOCK_FILE = "scopes.lock"
TURNSTILE_FILE = "scopes.turnstile"
DEFAULT_TIMEOUT_SECONDS = 30
_SILENT_SECONDS = 2.0  # that a process waits without a word
_MAX_PID_LENGTH = 8  # characters; the file may contain anything, and `kill` accepts no larger numbers
DIRECTORY: Final = "acp-sessions"
FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_ORPHAN_AFTER_SECONDS = 1.0


class StoreLock:
    """The lock of one store. It is not reentrant; each open repository has one.

    `descriptor` is the open lock file while the lock is held. A child process that inherits it holds the lock too, so
    the lock outlives this process if it is killed.
    """

    def __init__(self, directory: str, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS) -> None:
        self.descriptor: int | None = None
        self.on_wait: Callable[[str], object] | None = None  # gets a text for the user, once, if the lock is not free
        self._directory = directory
        self._timeout_seconds = timeout_seconds

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with other appends.

        Raises:
            Busy: another process holds the exclusive lock longer than the timeout.
            Inaccessible: the lock file cannot be created.
        """
        with self._hold(fcntl.LOCK_SH):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock exclusively; raises as `shared` does."""
        with self._hold(fcntl.LOCK_EX) as lock:
            _write_text(lock, f"{os.getpid()}\n")
            try:
                yield
            finally:
                _write_text(lock, "")

    @contextmanager
    def _hold(self, mode: int) -> Iterator[int]:
        deadline = time.monotonic() + self._timeout_seconds
        mask = os.umask(0o077)  # all files are written while the lock is held; they are readable by the owner alone
        try:
            lock = self._open(LOCK_FILE)
            try:
                turnstile = self._open(TURNSTILE_FILE)
                try:
                    self._take(turnstile, fcntl.LOCK_EX, deadline)
                    self._take(lock, mode, deadline)
                finally:
                    os.close(turnstile)
                self.descriptor = lock
                yield lock
            finally:
                self.descriptor = None
                os.close(lock)
        finally:
            os.umask(mask)

    def _open(self, name: str) -> int:
        path = os.path.join(self._directory, name)
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Inaccessible(
                f"cannot lock the store for writing: {os.strerror(error.errno or 0)} ({path})",
                hint="reading still works; check the permissions and the free space of the store's disk",
            ) from error

    def _take(self, descriptor: int, mode: int, deadline: float) -> None:
        pause = 0.0005
        while True:
            try:
                fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                    raise Inaccessible(
                        f"the file system of {self._directory} has no working file locks",
                        hint="keep the store on a local disk and choose it with --store",
                    ) from error
            else:
                return
            if self.on_wait is not None and time.monotonic() > deadline - self._timeout_seconds + _SILENT_SECONDS:
                notify, self.on_wait = self.on_wait, None
                notify(f"the store is busy{self._holder()}; waiting up to {self._timeout_seconds} s")
            if time.monotonic() > deadline:
                raise Busy(f"the store is busy{self._holder()}", hint="try again in a moment")
            time.sleep(pause * (0.5 + jitter()))
            pause = min(2 * pause, 0.01)

    def _holder(self) -> str:
        """Return a suffix of a message that names the holder of the exclusive lock; empty if it is unknown or dead."""
        try:
            with open_regular(os.path.join(self._directory, LOCK_FILE)) as file:
                pid = int(file.read(_MAX_PID_LENGTH))
            if pid <= 0:
                return ""
            os.kill(pid, 0)
        except (OSError, ValueError):
            return ""
        return f": process {pid} holds it"


def _write_text(descriptor: int, text: str) -> None:
    """Write a text into the lock file, for the message of a waiting process; errors such as a full disk are ignored."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
    except OSError:
        return


def session_lock_path(store: str, names: tuple[str, ...]) -> str:
    """Return the file of a session: of an agent and its session, or of a branch without one."""
    name = sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(os.path.realpath(store), DIRECTORY, name)


def is_file_locked(path: str) -> bool:
    """Return True if a process has locked a file, such as that of a session."""
    try:
        descriptor = os.open(path, FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def remove_orphans(paths: Iterable[str]) -> list[str]:
    """Remove those of the files and directories that do not change for a second, and return their paths."""
    orphans = find_orphans(paths)
    for path in orphans:
        with suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)  # a private directory of git, see git_program
            else:
                os.unlink(path)
    return orphans


def find_orphans(paths: Iterable[str]) -> list[str]:
    """Return those of the files and directories that do not change for a second."""
    unchanged = {path: found for path in paths if (found := _identity(path)) is not None}
    deadline = time.monotonic() + _ORPHAN_AFTER_SECONDS
    is_over = False
    while unchanged and not is_over:
        time.sleep(0.05)
        is_over = time.monotonic() >= deadline  # before the last look: this process may have been held up until now
        unchanged = {path: found for path, found in unchanged.items() if _identity(path) == found}
    return list(unchanged)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver these signals after the block; has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    mask = _signal.pthread_sigmask(signal.SIG_BLOCK, _DEFERRED)
    # If there are other threads, the kernel delivers the signal to one of them, and Python runs its handler here.
    handlers = [(number, _signal.signal(number, lambda signum, _: received.append(signum))) for number in _DEFERRED]
    try:
        yield
    finally:
        for number, handler in handlers:
            _signal.signal(number, handler)
        _signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for signal_number in received:
            signal.raise_signal(signal_number)
