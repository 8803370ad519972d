"""Control of the fault shim: compile it, choose the call to break, and read its counters."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import struct
import subprocess
from contextlib import contextmanager
from typing import NamedTuple

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim.c")
LAYOUT = struct.Struct("@iiiiqqq512s512s")
COUNT, SIGNAL_GROUP, SIGNAL_ALONE, FAIL_ONCE, FAIL_FROM_THEN_ON, SHORT_WRITE = range(6)


class Mode(NamedTuple):
    """A way to break a call; `number` is the signal or the errno."""

    how: int
    number: int = 0


MODES = {
    "kill": Mode(SIGNAL_GROUP, signal.SIGKILL),
    "enospc-once": Mode(FAIL_ONCE, errno.ENOSPC),
    "eio-once": Mode(FAIL_ONCE, errno.EIO),
    "eacces-once": Mode(FAIL_ONCE, errno.EACCES),
    "enospc-sticky": Mode(FAIL_FROM_THEN_ON, errno.ENOSPC),
    "eio-sticky": Mode(FAIL_FROM_THEN_ON, errno.EIO),
    "short-write": Mode(SHORT_WRITE),
    "interrupt": Mode(SIGNAL_GROUP, signal.SIGINT),
}
GIT_KILLED = "git-killed"  # whichever process makes the call dies alone, where a command starts others
MODES_OF_CHILDREN = {GIT_KILLED: Mode(SIGNAL_ALONE, signal.SIGKILL)}


class Call(NamedTuple):
    """One counted call; paths are relative to the prefix, `target` is where a rename or link leads."""

    number: int
    name: str
    path: str
    target: str


def compile_shim(directory: str) -> str:
    """Build the library and return its path."""
    library = os.path.join(directory, "shim.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Injector:
    """The state that the shim shares with every process started with `environment`."""

    def __init__(self, library: str, directory: str, name: str = "injector") -> None:
        self.log_path = os.path.join(directory, f"{name}.log")
        self._state_path = os.path.join(directory, f"{name}.state")
        with open(self._state_path, "wb") as file:
            file.write(bytes(LAYOUT.size))
        with open(self._state_path, "r+b") as file:
            self._state = mmap.mmap(file.fileno(), LAYOUT.size)
        self.environment = {"LD_PRELOAD": library, "FAULT_STATE": self._state_path}

    @contextmanager
    def armed(self, prefix: str, mode: Mode | None = None, at: int = 0, *, log: bool = False):
        """Break the call number `at` below a prefix while the block runs; without a mode only count."""
        if log and os.path.exists(self.log_path):
            os.unlink(self.log_path)
        how, number = mode or Mode(COUNT)
        log_path = self.log_path if log else ""
        self._state[:] = LAYOUT.pack(1, how, number, 0, at, 0, 0, prefix.encode(), log_path.encode())
        try:
            yield
        finally:
            self._state[:4] = bytes(4)

    @property
    def count(self) -> int:
        """Return the number of calls counted since the shim was last armed."""
        return LAYOUT.unpack(self._state[:])[5]

    @property
    def fired(self) -> int:
        """Return how many of these calls were broken."""
        return LAYOUT.unpack(self._state[:])[6]

    def calls(self, prefix: str) -> list[Call]:
        """Return the calls of a run that was logged, in order."""
        if not os.path.exists(self.log_path):
            return []
        with open(self.log_path, encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        return [Call(int(number), name, _below(path, prefix), _below(to, prefix)) for number, name, path, to in rows]


def _below(path: str, prefix: str) -> str:
    return path.removeprefix(prefix).lstrip("/")
