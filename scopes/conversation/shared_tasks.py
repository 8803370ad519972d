"""Do numbered tasks in this process and in forked copies of it, each of which takes the next task when it is free.

A copy has the memory of this process, so that nothing is sent to it; it writes its results to a file in memory, which
is read when it has ended. If it cannot be started, fails or is killed, this process does its tasks. Call this in a
process without threads: a copy has only one, and would wait for locks that the others hold.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import IO, Any, Final, Generic, NamedTuple, TypeVar

Found = TypeVar("Found")

MAX_TASKS: Final = 256  # the number of a task is a byte in a pipe, and no pipe is smaller
_MAX_PROCESSES: Final = 4
_DEFERRED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Tasks(NamedTuple, Generic[Found]):
    """Tasks of which each can be done in any of the processes.

    amount: how many there are; their numbers begin with 0
    do: does the task of a number
    pack: makes plain values of a result, which `marshal` can write
    unpack: the reverse
    report: called in this process with each result
    """

    amount: int
    do: Callable[[int], Found]
    pack: Callable[[Found], Any]
    unpack: Callable[[Any], Found]
    report: Callable[[Found], None]


class _Copy:
    """A running copy of this process, and the file of its results."""

    def __init__(self, pid: int, results: IO[bytes]) -> None:
        self._pid: int | None = pid
        self._results = results

    def read_results(self) -> list[tuple[int, Any]]:
        """Wait for the end of the copy; return number and packed result of its tasks, nothing if it did not finish."""
        self._wait()
        self._results.seek(0)
        data = self._results.read()
        try:
            found: list[tuple[int, Any]] = marshal.loads(data)  # noqa: S302 - written by our own process
        except (EOFError, ValueError, TypeError):
            return []
        return found

    def end(self) -> None:
        """End the copy if it is still running."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._wait()

    def _wait(self) -> None:
        if self._pid is not None:
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = None


def count_processes() -> int:
    """Return how many processes can work at once: one for each processor, if this system forks."""
    if sys.platform != "linux" or not hasattr(os, "memfd_create"):  # macOS does not recommend to fork
        return 1
    return min(len(os.sched_getaffinity(0)), _MAX_PROCESSES)


def do_tasks(tasks: Tasks[Found], processes: int) -> list[Found]:
    """Return the results of all tasks in their order; the first task that fails here raises its error."""
    if tasks.amount > MAX_TASKS:
        raise ValueError(tasks.amount)
    found: dict[int, Found] = {}
    if processes == 1:
        return [_do(tasks, number) for number in range(tasks.amount)]
    with ExitStack() as cleanup:
        queue, end = os.pipe()
        cleanup.callback(os.close, queue)
        os.write(end, bytes(range(tasks.amount)))
        os.close(end)
        copies: list[_Copy] = []
        with suppress(OSError):  # the limit of processes, memory or open files
            copies.extend(_start_copy(tasks, queue, cleanup) for _ in range(processes - 1))
        for number in _take(queue):
            found[number] = _do(tasks, number)
        for copy in copies:
            for number, packed in copy.read_results():
                found[number] = tasks.unpack(packed)
                tasks.report(found[number])
    return [found[number] if number in found else _do(tasks, number) for number in range(tasks.amount)]


def _do(tasks: Tasks[Found], number: int) -> Found:
    found = tasks.do(number)
    tasks.report(found)
    return found


def _take(queue: int) -> Iterator[int]:
    """Yield the tasks that no process has taken yet."""
    while number := os.read(queue, 1):
        yield number[0]


def _start_copy(tasks: Tasks[Found], queue: int, cleanup: ExitStack) -> _Copy:
    """Fork this process, and let the copy do tasks until none is left."""
    results = os.fdopen(os.memfd_create("results", os.MFD_CLOEXEC), "w+b")
    cleanup.callback(results.close)
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _DEFERRED)
    try:
        pid = os.fork()
        if not pid:
            try:
                _serve(tasks, queue, results, parent)
            finally:
                os._exit(0)  # never return into the frames of the parent
        copy = _Copy(pid, results)
        cleanup.callback(copy.end)
        return copy
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(tasks: Tasks[Found], queue: int, results: IO[bytes], parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _DEFERRED)
    gc.disable()
    with suppress(Exception):  # the parent does the task again, and meets the error
        done = []
        for number in _take(queue):
            done.append((number, tasks.pack(tasks.do(number))))
            if os.getppid() != parent:
                return
        results.write(marshal.dumps(done))
        results.flush()
