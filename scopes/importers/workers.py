"""Do numbered tasks in forked processes, which inherit the memory of this one and its lock on the store.

They end when this process ends or dies. What a task returns is pickled; its function and its data are not.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeVar

from scopes.errors import Inaccessible, ScopesError
from scopes.store.repository import Repository

Item = TypeVar("Item")
Found = TypeVar("Found")

_MAX_WORKERS: Final = 4  # by default: each takes up to 100 MB of memory
_MAX_ASKED: Final = 64
_ITEMS_PER_WORKER: Final = 20  # fewer sources are opened sooner than a worker is started
_ITEMS_PER_TASK: Final = 5  # a message for each item takes as long as opening a source
_GARBAGE_THRESHOLDS: Final = 50_000, 20, 50  # records have no reference cycles; Python's 700 cost 7 % of the time
_DEFERRED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_POLL_SECONDS: Final = 0.2
_WHY_KILLED: Final = "run the command again; if memory is short, set scopes.importWorkers to 1"
_FORK: Final = multiprocessing.get_context("fork")


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
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def walk_results(
    work: Callable[[int], Found],
    count: int,
    workers: int,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    clean_up: Callable[[int], object] = lambda _: None,
) -> Iterator[Found]:
    """Do the tasks 0 to `count` - 1 in worker processes, and yield the results as they come.

    The workers are killed at the end, also when the iterator is closed.

    is_stopped: asked several times a second; once it is true, the tasks that are not done are given up
    clean_up: called with the id of each process that was killed

    Raises:
        Inaccessible: no process can be started, or one was killed.
        Exception: what the first failed task raised.
    """
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    lifeline, end = os.pipe()
    others, processes = set(multiprocessing.active_children()), set[BaseProcess]()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _DEFERRED)  # until the processes ignore Ctrl-C
    executor = None
    try:
        try:
            executor = ProcessPoolExecutor(workers, _FORK, initializer=_begin, initargs=(work, lifeline, end, mask))
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # about threads of the caller
                waiting = {executor.submit(_call, number) for number in range(count)}
        except OSError as error:  # the limit of processes, memory or open files
            text = f"cannot start a worker process: {error.strerror}; nothing was stored"
            raise Inaccessible(text, hint="set scopes.importWorkers to 1") from error
        finally:
            processes |= set(multiprocessing.active_children()) - others
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while waiting and not is_stopped():
            done, waiting = wait(waiting, _POLL_SECONDS, FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except BrokenProcessPool as error:
        raise Inaccessible("a worker process was killed; nothing was stored", hint=_WHY_KILLED) from error
    finally:
        for process in processes:
            process.kill()
        if executor is not None:
            executor.shutdown(cancel_futures=True)
        for process in processes:
            process.join()
            clean_up(process.pid or 0)
        os.close(lifeline)
        os.close(end)


def map_in_workers(work: Callable[[Item], Found], items: Sequence[Item], workers: int) -> list[Found]:
    """Return what `work` makes of each item, in order; several processes work on many items.

    Raises:
        Inaccessible: a worker was killed.
        Exception: what the first failed call raised.
    """
    tasks = [items[start : start + _ITEMS_PER_TASK] for start in range(0, len(items), _ITEMS_PER_TASK)]

    def run(number: int) -> tuple[int, list[Found]]:
        return number, [work(item) for item in tasks[number]]

    workers = min(workers, len(items) // _ITEMS_PER_WORKER)
    if workers < 2:
        return [work(item) for item in items]
    found = dict(walk_results(run, len(tasks), workers))
    return [each for number in range(len(tasks)) for each in found[number]]


def run_apart(work: Callable[[], Found]) -> Found:
    """Return what `work` returns; where processes can be forked it is done in one, whose memory is freed with it.

    Raises:
        Inaccessible: the process was killed, or has failed.
        ScopesError, OSError: what `work` raised.
    """
    if sys.platform != "linux":
        return work()
    reader, writer = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_send_result, args=(work, writer))
    process.start()
    writer.close()
    try:
        found, error = reader.recv()
    except EOFError:
        raise Inaccessible("a worker process was killed", hint=_WHY_KILLED) from None
    finally:
        process.join()
        reader.close()
    if error is not None:
        raise error
    result: Found = found
    return result


def _send_result(work: Callable[[], Any], writer: Connection) -> None:
    found: tuple[Any, Exception | None]
    try:
        found = work(), None
    except (ScopesError, OSError) as error:
        found = None, error
    writer.send(found)


_WORK: list[Callable[[int], Any]] = []  # of this process, if it is a worker


def _begin(work: Callable[[int], Any], lifeline: int, end: int, mask: Iterable[int]) -> None:
    """Set up a new worker: its signals, its memory, and its end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _WORK[:] = [work]
    os.close(end)
    gc.freeze()  # what the parent made stays, and shares its memory with the parent
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()


def _end_with_parent(lifeline: int) -> None:
    with suppress(OSError):
        os.read(lifeline, 1)  # returns when no process has the other end any more
    os._exit(1)


def _call(number: int) -> Any:
    return _WORK[0](number)
