"""Which sessions a running proxy has: another proxy does not continue them, as if it were their only editor.

Each has a file below the store, which all proxies of a store share, and a lock on it, which the kernel releases when a
process dies, however it dies. What names a file is the agent and its session, or a branch without a session.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from contextlib import suppress
from typing import Final

from scopes.live.event_log import EventLog
from scopes.store.locks import FLAGS, is_file_locked, session_lock_path

_ATTEMPTS: Final = 6  # while a proxy ends, or another one looks whether a file is left of one that was killed
_PAUSE_SECONDS: Final = 0.05
_MAX_PID_LENGTH: Final = 8


class Holder(Exception):
    """Another process has a session; `process` is empty if it is not known which one."""

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


class LiveSessions:
    """The sessions that this proxy has; used by several threads."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._held: dict[str, int] = {}  # path of the file -> its descriptor
        self._is_over = False
        self._lock = threading.Lock()

    def hold(self, store: str, *names: str) -> None:
        """Have a session of a store until `release`; a store that cannot be written has none, which is only logged.

        Raises:
            Holder: another process has it.
        """
        path = session_lock_path(store, names)
        with self._lock:
            if self._is_over or path in self._held:
                return
            try:
                self._held[path] = _lock(_made(path, is_first=not self._held))
            except OSError as error:
                self._log.write("not-held", error=str(error))

    def is_free(self, store: str, *names: str) -> bool:
        """Return True if no proxy has a session, this one included."""
        path = session_lock_path(store, names)
        with self._lock:
            if path in self._held:
                return False
        return not is_file_locked(path)

    def release(self, store: str, *names: str) -> None:
        """Let other proxies continue a session."""
        path = session_lock_path(store, names)
        with self._lock:
            descriptor = self._held.pop(path, None)
        if descriptor is not None:
            _unlock(path, descriptor)

    def release_all(self) -> None:
        """Let other proxies continue what this one had, and have nothing from now on: its editor has gone."""
        with self._lock:
            self._is_over = True
            held, self._held = self._held, {}
        for path, descriptor in held.items():
            _unlock(path, descriptor)


def _made(path: str, *, is_first: bool) -> str:
    """Make the directory of a file, if there is none; when it is the first one, delete what was left there.

    Raises:
        OSError: it cannot be made, or is a link out of the store.
    """
    directory = os.path.dirname(path)
    with suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    if os.path.islink(directory):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
    if is_first:
        _remove_ended(directory)
    return path


def _lock(path: str) -> int:
    """Return the descriptor of a locked file.

    Raises:
        Holder: another process has locked it.
        OSError: it cannot be written, or its file system has no locks.
    """
    process = ""
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, FLAGS | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(descriptor, _MAX_PID_LENGTH, 0).decode("ascii", "replace").strip()
        except OSError:
            os.close(descriptor)
            raise
        else:
            if _is_at(path, descriptor):
                with suppress(OSError):  # on a full disk the number is missing, which only a message needs
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return descriptor
        os.close(descriptor)
        time.sleep(_PAUSE_SECONDS)
    raise Holder(process)


def _is_at(path: str, descriptor: int) -> bool:
    """Return False if whoever had the lock has deleted the file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def _unlock(path: str, descriptor: int) -> None:
    with suppress(OSError):
        os.unlink(path)
    os.close(descriptor)


def _remove_ended(directory: str) -> None:
    """Delete the files of proxies that were killed."""
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        with suppress(OSError):
            descriptor = os.open(path, FLAGS)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(path, descriptor):
                    os.unlink(path)
            finally:
                os.close(descriptor)
