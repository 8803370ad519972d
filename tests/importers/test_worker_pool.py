"""Forked workers: results, errors and deaths, and that no worker outlives its parent."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time

import pytest

from scopes.errors import CannotImport, Inaccessible
from scopes.importers.worker_pool import WorkerPool, begin_apart, map_in_workers, rare_garbage_collection, run_apart


def ignore(*arguments):
    pass


def run_and_finish(count, work, finish):
    with WorkerPool(count, work, finish, ignore) as pool:
        list(pool.run(range(4), ignore))
        pool.finish()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_task_is_done_once_and_progress_is_reported(count):
    def work(number, report):
        report(number)
        return number, os.getpid()

    progress = []
    with WorkerPool(count, work, ignore, ignore) as pool:
        results = list(pool.run(range(20), progress.append))
        pool.finish()
    assert sorted(number for number, _ in results) == sorted(progress) == list(range(20))
    workers = {pid for _, pid in results}
    assert len(workers) <= count
    assert os.getpid() not in workers
    assert not any(map(is_alive, workers))


@pytest.mark.parametrize(("items", "processes"), [(0, 1), (39, 1), (40, 2), (101, 3)])
def test_results_are_in_the_order_of_the_items_whoever_made_them(items, processes):
    """Few items are not worth a worker."""
    found = map_in_workers(lambda item: (item * item, os.getpid()), range(items), 3)
    assert [square for square, _ in found] == [item * item for item in range(items)]
    makers = {pid for _, pid in found}
    assert len(makers) <= processes
    assert (makers <= {os.getpid()}) == (processes == 1)


def test_an_error_about_one_of_many_items_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        map_in_workers(lambda item: 1 // (item - 77), range(100), 2)


def test_a_large_result_comes_whole():
    with WorkerPool(2, lambda number, _: bytes([number]) * (5 << 20), ignore, ignore) as pool:
        assert sorted(pool.run(range(4), ignore)) == [bytes([number]) * (5 << 20) for number in range(4)]


def test_finish_is_called_in_every_worker_after_the_last_task(tmp_path):
    def finish():
        (tmp_path / str(os.getpid())).touch()

    with WorkerPool(3, lambda number, _: None, finish, ignore) as pool:
        list(pool.run(range(5), ignore))
        assert os.listdir(tmp_path) == []
        pool.finish()
        assert len(os.listdir(tmp_path)) == 3


def raise_unportable():
    class Local(Exception):
        pass

    raise Local("cannot be sent")


@pytest.mark.parametrize(
    "error", [CannotImport("/a: no", hint="see"), OSError(5, "Input/output error", "/a"), ValueError("x")], ids=repr
)
@pytest.mark.parametrize("in_finish", [True, False])
def test_an_error_in_a_worker_is_raised_here(error, in_finish):
    def fail(*arguments):
        raise error

    with pytest.raises(type(error)) as raised:
        run_and_finish(2, ignore if in_finish else fail, fail)
    assert (str(raised.value), raised.value.__dict__) == (str(error), error.__dict__)


def test_an_error_that_cannot_be_sent_comes_as_its_traceback():
    with (
        pytest.raises(RuntimeError, match=r"in raise_unportable(?s:.)*cannot be sent"),
        WorkerPool(2, lambda number, _: raise_unportable(), ignore, ignore) as pool,
    ):
        list(pool.run([1], ignore))


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_is_an_error_and_ends_the_others(deadly):
    pids = []

    def work(number, report):
        report(os.getpid())
        if number == 3:
            os.kill(os.getpid(), deadly)
        time.sleep(0.01)

    cleaned = []
    with pytest.raises(Inaccessible, match="was killed"), WorkerPool(2, work, ignore, cleaned.append) as pool:
        list(pool.run(range(50), pids.append))
    assert set(pids) <= set(cleaned)
    assert len(cleaned) == 2
    assert not any(map(is_alive, cleaned))


def test_workers_ignore_an_interrupt_and_end_with_the_block():
    cleaned = []

    def interrupt(*_):
        for worker in pool._workers.values():
            os.kill(worker.pid, signal.SIGINT)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    pool = WorkerPool(2, lambda number, _: time.sleep(60), ignore, cleaned.append)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt), pool:
        list(pool.run(range(4), ignore))
    signal.signal(signal.SIGALRM, before)
    assert len(cleaned) == 2
    assert not any(map(is_alive, cleaned))


PARENT = """
import os, sys, time
from scopes.importers.worker_pool import WorkerPool
def work(number, report):
    report(os.getpid())
    while True: pass
with WorkerPool(2, work, None, None) as pool:
    for result in pool.run(range(2), lambda pid: print(pid, flush=True)): pass
"""


def test_busy_workers_end_when_their_parent_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        try:
            pids = [int(parent.stdout.readline()) for _ in range(2)]
        finally:
            parent.kill()  # also after a time limit: its workers would go on for ever
    deadline = time.monotonic() + 20
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, pids))


def is_running(pid):
    """Return True if a process has not ended; an orphan may stay a zombie where nobody waits for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return os.path.isdir("/proc") is False and is_alive(pid)


def test_signals_are_delivered_again_after_the_start_and_pipes_are_closed():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    descriptors = len(os.listdir("/dev/fd"))
    with WorkerPool(2, ignore, ignore, ignore) as pool:
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
        list(pool.run(range(2), ignore))
    assert len(os.listdir("/dev/fd")) == descriptors


def test_garbage_is_collected_as_before_after_an_import_that_failed():
    before = gc.get_threshold()

    @rare_garbage_collection()
    def fail():
        assert gc.get_threshold() != before
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gc.get_threshold() == before


def test_work_that_is_done_apart_returns_its_result_and_leaves_no_process():
    pid, memory = run_apart(lambda: (os.getpid(), bytes(3 << 20)))
    assert (pid != os.getpid(), is_alive(pid), memory) == (True, False, bytes(3 << 20))


def test_an_error_of_work_that_is_done_apart_is_raised_here_with_its_hint():
    def fail():
        raise CannotImport("no transcript", hint="name another one")

    with pytest.raises(CannotImport, match="no transcript") as error:
        run_apart(fail)
    assert error.value.hint == "name another one"


def test_work_that_is_killed_apart_is_an_error():
    with pytest.raises(Inaccessible, match="was killed"):
        run_apart(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_work_that_is_done_apart_may_use_workers_of_its_own():
    found = run_apart(lambda: map_in_workers(lambda item: (item, os.getpid()), range(100), 2))
    assert [item for item, _ in found] == list(range(100))
    assert len({pid for _, pid in found}) == 2


def test_work_that_was_started_apart_goes_on_meanwhile():
    """The work ends only when this process has written into the pipe, which it does after the beginning."""
    take, give = os.pipe()
    with begin_apart(lambda: (os.read(take, 1), os.getpid())) as wait:
        os.write(give, b"x")
        read, pid = wait()
        assert (read, pid != os.getpid()) == (b"x", True)
    assert not is_alive(pid)


@pytest.mark.parametrize("signal_of_itself", [signal.SIGKILL, None])
def test_work_that_was_started_apart_and_fails_has_no_result(signal_of_itself):
    def fail():
        if signal_of_itself is not None:
            os.kill(os.getpid(), signal_of_itself)
        raise CannotImport("the metadata are damaged")

    with begin_apart(fail) as wait:
        assert wait() is None


def test_an_error_of_the_program_in_work_that_was_started_apart_is_not_hidden():
    with pytest.raises(ZeroDivisionError), begin_apart(lambda: 1 // 0) as wait:
        wait()


def test_work_that_was_started_apart_ends_with_the_block_if_nobody_waits(tmp_path):
    take, give = os.pipe()
    with begin_apart(lambda: (os.write(give, str(os.getpid()).encode()), time.sleep(60))):
        pid = int(os.read(take, 20))
        assert is_alive(pid)
    assert not is_alive(pid)


def test_work_that_cannot_be_started_apart_is_left_undone(monkeypatch):
    def refuse():
        raise BlockingIOError("no room for a process")

    monkeypatch.setattr(os, "fork", refuse)
    with begin_apart(os.getpid) as wait:
        assert wait() is None
    monkeypatch.setattr(sys, "platform", "darwin")
    with begin_apart(os.getpid) as wait:
        assert wait() is None


def test_nothing_is_done_apart_where_processes_should_not_be_forked(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert run_apart(os.getpid) == os.getpid()
