"""Run numbered tasks in forked child processes.

Workers have a copy of this process's memory, inherit its lock on the store, and exit when it exits or dies. An error in
a worker, or its death, ends all workers, and their objects are not used: a worker stores its objects in `finish`, which
is called when all tasks of all workers are done.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

from scopes.errors import Inaccessible, ScopesError
from scopes.store.repository import Repository

Item = TypeVar("Item")
Found = TypeVar("Found")
Report: TypeAlias = Callable[[int], None]
Work: TypeAlias = Callable[[int, Report], Any]
"""Does the task of this number; reports progress meanwhile; its result can be pickled."""

_HEAD = struct.Struct(">Q")
_MAX_WORKERS = 4  # by default: each takes up to 100 MB of memory
_MAX_ASKED = 64
_ITEMS_PER_WORKER = 20  # fewer sources are opened sooner than a worker is started
_ITEMS_PER_TASK = 5  # a message for each item takes as long as opening a source
_FINISH = -1
GARBAGE_THRESHOLDS = 50_000, 20, 50  # records have no reference cycles; Python's 700 cost 7 % of the time
_PROGRESS, _RESULT, _ERROR = range(3)
_DEFERRED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def count_workers(repository: Repository) -> int:
    """Return the number of workers in `scopes.importWorkers`, or one for each processor that this process may use."""
    asked = repository.config.find_integer("scopes.importWorkers", 0)
    if asked or sys.platform != "linux":  # macOS does not recommend to fork
        return min(max(asked, 1), _MAX_ASKED)
    return min(len(os.sched_getaffinity(0)), _MAX_WORKERS)


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Collect garbage as seldom as the workers do; import makes very many objects."""
    before = gc.get_threshold()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@dataclass(frozen=True, slots=True)
class _Worker:
    pid: int
    tasks: int
    results: int


class WorkerPool:
    """Worker processes for one list of tasks.

    finish: called in every worker when all tasks are done
    clean_up: called in this process with the id of each worker that was killed
    """

    def __init__(self, count: int, work: Work, finish: Callable[[], object], clean_up: Callable[[int], None]) -> None:
        self._work = work
        self._finish = finish
        self._clean_up = clean_up
        self._workers: dict[int, _Worker] = {}  # by the descriptor of their results
        self._count = count
        self._lifeline = -1

    def __enter__(self) -> Self:
        before: set[int] = set(signal.pthread_sigmask(signal.SIG_BLOCK, _DEFERRED))
        ends, self._lifeline = os.pipe()
        with ExitStack() as after, ExitStack() as unless_started:
            after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
            after.callback(os.close, ends)
            unless_started.callback(self._kill_all)
            try:
                for _ in range(self._count):
                    self._start(ends, before)
            except OSError as error:  # the limit of processes, memory or open files
                raise Inaccessible(
                    f"cannot start a worker process of the import: {error.strerror}; nothing was imported",
                    hint="set scopes.importWorkers to 1",
                ) from error
            unless_started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._kill_all()

    def run(self, tasks: Sequence[int], on_progress: Report) -> Iterator[Any]:
        """Begin tasks in their order, each in the next free worker; return an iterator over the results as they come.

        Raises:
            Inaccessible: a worker was killed.
            Exception: what the first failed task raised.
        """
        waiting = list(reversed(tasks))
        for worker in self._workers.values():
            if waiting:
                _send(worker.tasks, waiting.pop())
        return self._walk_results(waiting, len(tasks), on_progress)

    def _walk_results(self, waiting: list[int], left: int, on_progress: Report) -> Iterator[Any]:
        with selectors.DefaultSelector() as selector:
            for descriptor in self._workers:
                selector.register(descriptor, selectors.EVENT_READ)
            while left:
                for key, _ in selector.select():
                    worker = self._workers[key.fd]
                    kind, result = _receive(worker.results)
                    if kind == _PROGRESS:
                        on_progress(result)
                        continue
                    left -= 1
                    if waiting:
                        _send(worker.tasks, waiting.pop())
                    yield result

    def finish(self) -> None:
        """Let all workers keep their objects; raises the same as `run`."""
        for worker in self._workers.values():
            _send(worker.tasks, _FINISH)
        for worker in self._workers.values():
            _receive(worker.results)

    def _start(self, lifeline: int, mask: set[int]) -> None:
        with ExitStack() as unless_started:
            task_end, tasks = open_pipe(unless_started)
            results, result_end = open_pipe(unless_started)
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # about threads of the caller
                pid = os.fork()
            unless_started.pop_all()
        if not pid:
            try:
                _prepare(lifeline, [self._lifeline, tasks, results], mask)
                self._serve(task_end, result_end)
            finally:
                os._exit(0)  # never return into the frames of the parent
        os.close(task_end)
        os.close(result_end)
        self._workers[results] = _Worker(pid, tasks, results)

    def _serve(self, tasks: int, results: int) -> None:
        """Do tasks until the other end of the pipe is closed."""
        while (number := _read_message(tasks)) is not None:
            result = None
            with Caught() as caught:
                if number == _FINISH:
                    self._finish()
                else:
                    result = self._work(number, partial(_report, results))
            _send(results, (_RESULT, result) if caught.error is None else (_ERROR, _portable(caught.error)))

    def _kill_all(self) -> None:
        """Kill all workers and wait for them; also those that have finished, which only wait for this."""
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
        for worker in self._workers.values():
            with suppress(ChildProcessError):
                os.waitpid(worker.pid, 0)
            os.close(worker.tasks)
            os.close(worker.results)
            self._clean_up(worker.pid)
        self._workers = {}
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def map_in_workers(work: Callable[[Item], Found], items: Sequence[Item], workers: int) -> list[Found]:
    """Return what `work` makes of each item, in order; several processes work on many items.

    Raises:
        Inaccessible: a worker was killed.
        Exception: what the first failed call raised.
    """
    tasks = [items[start : start + _ITEMS_PER_TASK] for start in range(0, len(items), _ITEMS_PER_TASK)]

    def run(number: int, _: Report) -> tuple[int, list[Found]]:
        return number, [work(item) for item in tasks[number]]

    workers = min(workers, len(items) // _ITEMS_PER_WORKER)
    if workers < 2:
        return [work(item) for item in items]
    with WorkerPool(workers, run, lambda: None, lambda _: None) as pool:
        found = dict(pool.run(range(len(tasks)), lambda _: None))
    return [each for number in range(len(tasks)) for each in found[number]]


def run_apart(work: Callable[[], Found]) -> Found:
    """Return what `work` returns; where processes can be forked it is done in one, whose memory is freed with it.

    Raises:
        Inaccessible: the process was killed.
        Exception: what `work` raised.
    """
    if sys.platform != "linux":
        return work()
    with WorkerPool(1, lambda _number, _report: work(), lambda: None, lambda _pid: None) as pool:
        [found] = pool.run([0], lambda _: None)
    result: Found = found
    return result


@contextmanager
def begin_apart(work: Callable[[], Found]) -> Iterator[Callable[[], Found | None]]:
    """Begin work in a process of its own and yield a function that waits for what it returns.

    The function returns None if processes cannot be forked, or if this one was killed or raised a ScopesError: the work
    must be one that may be left undone. The process is killed at the end of the block.
    """
    with ExitStack() as stack:
        results: Iterator[Any] = iter(())
        if sys.platform == "linux":
            with suppress(Inaccessible):  # no room for a process
                pool = WorkerPool(1, lambda _number, _report: work(), lambda: None, lambda _pid: None)
                results = stack.enter_context(pool).run([0], lambda _: None)

        def wait() -> Found | None:
            with suppress(ScopesError):
                return next(results, None)
            return None

        yield wait


def open_pipe(cleanup: ExitStack) -> tuple[int, int]:
    """Return both ends of a new pipe; `cleanup` closes them."""
    ends = os.pipe()
    for end in ends:
        cleanup.callback(os.close, end)
    return ends


class Caught:
    """Catches any error of a block: it is raised in the parent."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.error = error
        return True


def _prepare(lifeline: int, others: Sequence[int], mask: set[int]) -> None:
    """Set up a new worker: its signals, its ends of the pipes, and its end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for descriptor in others:
        os.close(descriptor)
    gc.freeze()  # what the parent made stays, and shares its memory with the parent
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()


def _report(results: int, progress: int) -> None:
    _send(results, (_PROGRESS, progress))


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)  # returns when no process has the other end any more
    os._exit(1)


def _portable(error: BaseException) -> BaseException:
    """Return an error that can be sent; one with the traceback as its text in place of one that cannot."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - written here
    except (pickle.PickleError, TypeError, AttributeError, ValueError):
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def _receive(results: int) -> tuple[int, Any]:
    """Return the kind and the content of the next message of a worker; raise the error in it."""
    message = _read_message(results)
    if message is None:
        raise Inaccessible(
            "a worker process of the import was killed; nothing was imported",
            hint="run the command again; if memory is short, set scopes.importWorkers to 1",
        )
    kind, content = message
    if kind == _ERROR:
        raise content
    return kind, content


def _send(descriptor: int, message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    rest = memoryview(_HEAD.pack(len(data)) + data)
    with suppress(BrokenPipeError):  # whoever reads the answer notices
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _read_message(descriptor: int) -> Any:
    """Return the next message; None at the end of the pipe."""
    head = _read_exactly(descriptor, _HEAD.size)
    data = None if head is None else _read_exactly(descriptor, _HEAD.unpack(head)[0])
    return None if data is None else pickle.loads(data)  # noqa: S301 - written by our own processes


def _read_exactly(descriptor: int, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        block = os.read(descriptor, size - len(data))
        if not block:
            return None
        data += block
    return bytes(data)
