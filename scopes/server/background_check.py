"""A check of `doctor` that takes long, in a copy of this process: it runs while others wait, and has a time limit."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from scopes.conversation.verify import Check

_MAX_BYTES = 65536
_SPARE_SECONDS = 5  # after which a copy ends whose doctor was killed


class BackgroundCheck:
    """A check that begins when the object is made; `take` returns what it found.

    check: what is done in the copy; an error that it raises is raised by `take`
    late: what `take` returns if that takes longer than `seconds`
    """

    def __init__(self, check: Callable[[], Check], late: Callable[[], Check], seconds: float) -> None:
        self._check, self._late = check, late
        self._end = time.monotonic() + seconds
        self._copy = self._start(int(seconds) + _SPARE_SECONDS)

    def _start(self, limit: int) -> tuple[int, int] | None:
        """Start the copy; return its number and the descriptor of its answer, None if no process can be started."""
        answer, given = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(answer)
            os.close(given)
            return None
        if not pid:
            try:
                _answer(self._check, given, limit)
            finally:
                os._exit(0)  # never return into the frames of the parent
        os.close(given)
        return pid, answer

    def take(self) -> Check:
        """Wait for the answer, or do the check here if the copy has ended without one."""
        if self._copy is None:
            return self._check()
        (pid, answer), self._copy = self._copy, None
        data = b""
        try:
            while (left := self._end - time.monotonic()) > 0 and select.select([answer], [], [], left)[0]:
                more = os.read(answer, _MAX_BYTES)
                if not more:
                    return Check(*json.loads(data)) if data else self._check()
                data += more
            return self._late()
        finally:
            os.close(answer)
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _answer(check: Callable[[], Check], given: int, limit: int) -> None:
    """Do the check, silently, and write what it found; nothing if it fails."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limit)
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    with suppress(Exception):  # the parent does it again, and meets the error
        found = check()
        os.write(given, json.dumps([found.name, found.state, found.detail, found.cure]).encode())
