"""Which delivery to the program of an agent is under way: one at a time, with an id that survives a crash.

    <store>/deliveries/<number>    a line of JSON for each run of the program for the present message

The line is written and synced before the program runs. After a crash in between nobody knows whether the program has
finished, so it runs again, with the same id and a higher attempt: it can tell that it has seen the message before. Only
the process that has locked the file runs the program; the kernel releases the lock when a process dies. Programs belong
to one machine, so this is a file and not a ref. An acknowledgement leaves out the message for which the program runs.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from scopes.agents.agent import Agent
from scopes.clock import new_id
from scopes.errors import Corrupt, Inaccessible
from scopes.model import canonical_json
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_DIRECTORY = "deliveries"
_MAX_RECORD_BYTES = 100_000
_MAX_ID_CHARACTERS = 100


class Attempt(NamedTuple):
    """One run of a program for a message: the id of the delivery, and which run of it this is, from 1."""

    delivery: str
    number: int


@contextmanager
def claim_deliveries(repository: Repository, agent: Agent) -> Iterator[DeliveryRecord | None]:
    """Be the only process that delivers to the program of an agent; None if another one is that now.

    Raises:
        Inaccessible: the file cannot be written or locked.
    """
    path = _path(repository, agent)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = _open(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise _inaccessible(path, error) from error
    try:
        with exclusive_write(repository):  # who looks whether it is locked holds this, and locks it for a moment
            is_ours = _lock(path, descriptor, fcntl.LOCK_EX)
        yield DeliveryRecord(path, descriptor, durable=repository.durable) if is_ours else None
    finally:
        os.close(descriptor)


def find_under_way(repository: Repository, agent: Agent) -> int | None:
    """Return the sequence number of the message for which the program of an agent is running; None if for none.

    Requires `exclusive_write`, so that no delivery begins meanwhile.

    Raises:
        Inaccessible: the file cannot be read or locked.
    """
    path = _path(repository, agent)
    try:
        descriptor = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _inaccessible(path, error) from error
    try:
        if _lock(path, descriptor, fcntl.LOCK_SH):
            return None
        last = [number for number, _ in _walk_attempts(descriptor)][-1:]
        return last[0] if last else None
    finally:
        os.close(descriptor)


class DeliveryRecord:
    """The runs of the program for the present message."""

    def __init__(self, path: str, descriptor: int, *, durable: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self._durable = durable

    def begin(self, sequence: int) -> Attempt:
        """Record that the program is about to run for the message of a sequence number; requires `exclusive_write`.

        Raises:
            Inaccessible: that cannot be written, so the program must not run.
        """
        last = self._find_last(sequence)
        attempt = Attempt(new_id(), 1) if last is None else Attempt(last.delivery, last.number + 1)
        if last is None:
            self.clear()
        document = {"sequence": sequence, "delivery": attempt.delivery, "attempt": attempt.number}
        data = json.dumps(document).encode() + b"\n"
        try:
            self._append(data)
            if self._durable:
                os.fsync(self._descriptor)
        except OSError as error:
            raise _inaccessible(self._path, error) from error
        return attempt

    def clear(self) -> None:
        """Forget the runs: the message is acknowledged, or it is another one now."""
        try:
            os.ftruncate(self._descriptor, 0)
        except OSError as error:
            raise _inaccessible(self._path, error) from error

    def _append(self, line: bytes) -> None:
        """Append a line, also after one that a crash has cut."""
        size = os.fstat(self._descriptor).st_size
        data = line if size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n" else b"\n" + line
        if os.pwrite(self._descriptor, data, size) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _find_last(self, sequence: int) -> Attempt | None:
        """Return the last run for the message of a sequence number; a line that a crash has cut is left out."""
        found = None
        for number, attempt in _walk_attempts(self._descriptor):
            found = attempt if number == sequence else None
        return found


def _path(repository: Repository, agent: Agent) -> str:
    return os.path.join(repository.path, _DIRECTORY, f"{agent.number:06d}")


def _open(path: str, flags: int) -> int:
    """Open a record; the store may come from another person, who put a pipe or a device there.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    return descriptor


def _lock(path: str, descriptor: int, mode: int) -> bool:
    """Return True if the file could be locked, False if another process has it locked."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno != errno.EWOULDBLOCK:
            raise _inaccessible(path, error) from error
        return False
    return True


def _walk_attempts(descriptor: int) -> Iterator[tuple[int, Attempt]]:
    """Yield the runs of a record with the sequence numbers of their messages; damaged lines are left out.

    So are those with an id that cannot be in the environment of a program.
    """
    for line in os.pread(descriptor, _MAX_RECORD_BYTES, 0).splitlines():
        with suppress(Corrupt):
            match canonical_json.load(line):
                case {"sequence": int(number), "delivery": str(delivery), "attempt": int(attempt)} if (
                    len(delivery) <= _MAX_ID_CHARACTERS and delivery.isprintable()
                ):
                    yield number, Attempt(delivery, attempt)


def _inaccessible(path: str, error: OSError) -> Inaccessible:
    text = f"cannot record a delivery: {os.strerror(error.errno or 0)} ({path})"
    return Inaccessible(text, hint="the message stays in the inbox; check the permissions and the free space")
