"""Tasks that this process and forked copies of it do together."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scopes.conversation.shared_tasks import MAX_TASKS, Tasks, count_processes, do_tasks
from tests.support.store import ROOT

pytestmark = pytest.mark.skipif(count_processes() == 1 and sys.platform != "linux", reason="nothing is forked here")
SECONDS = 20
ORPHAN = """
import os, sys, time
from scopes.conversation.shared_tasks import Tasks, do_tasks
def do(number):
    if os.getpid() != parent:
        print(os.getpid(), flush=True)
        time.sleep(0.05)
    else:
        time.sleep(1000)
parent = os.getpid()
do_tasks(Tasks(200, do, lambda found: found, lambda found: found, lambda found: None), 2)
"""


class Work:
    """Tasks whose result is their number and the process that did them; this process waits until a copy has begun."""

    def __init__(self, directory, in_copy=lambda number: None, here=lambda number: None):
        self.parent = os.getpid()
        self.started = Path(directory, "started")
        self.in_copy, self.here = in_copy, here
        self.reported = []

    def do(self, number):
        if os.getpid() == self.parent:
            end = time.monotonic() + SECONDS
            while not self.started.exists() and time.monotonic() < end:
                time.sleep(0.005)
            self.here(number)
        else:
            self.started.write_text(str(os.getpid()))
            self.in_copy(number)
        return number, os.getpid()

    def run(self, amount=20, processes=2):
        return do_tasks(Tasks(amount, self.do, list, tuple, self.reported.append), processes)


def list_children():
    """Return the child processes of this one; other tests of this process may have some."""
    return [child for path in Path("/proc/self/task").glob("*/children") for child in path.read_text().split()]


@pytest.fixture(autouse=True)
def _no_child_is_left():
    before = list_children()
    yield
    assert list_children() == before


def test_results_come_in_the_order_of_the_tasks_whichever_process_did_them(tmp_path):
    work = Work(tmp_path, in_copy=lambda _: time.sleep(0.002))
    found = work.run(processes=3)
    assert [number for number, _ in found] == list(range(20))
    assert {process for _, process in found} - {os.getpid()}


def test_each_result_is_reported_once_in_this_process(tmp_path):
    work = Work(tmp_path)
    assert work.run() == sorted(work.reported)


def test_one_process_does_all_tasks_itself_and_forks_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was forked"))
    work = Work(tmp_path)
    work.started.touch()
    assert work.run(processes=1) == [(number, os.getpid()) for number in range(20)] == work.reported


@pytest.mark.parametrize("amount", [0, 1, MAX_TASKS])
def test_there_may_be_no_task_one_or_as_many_as_a_byte_can_number(tmp_path, amount):
    work = Work(tmp_path)
    work.started.touch()
    assert [number for number, _ in work.run(amount)] == list(range(amount))
    with pytest.raises(ValueError, match="257"):
        work.run(MAX_TASKS + 1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_tasks_of_a_copy_that_is_killed_are_done_here(tmp_path, number):
    work = Work(tmp_path, in_copy=lambda _: os.kill(os.getpid(), number))
    assert work.run() == [(number, os.getpid()) for number in range(20)]


def fail(number):
    raise OSError(f"task {number}")


def test_a_task_that_fails_in_a_copy_only_is_done_here(tmp_path):
    assert Work(tmp_path, in_copy=fail).run() == [(number, os.getpid()) for number in range(20)]


def test_the_error_of_a_task_that_fails_everywhere_is_raised(tmp_path):
    with pytest.raises(OSError, match="task"):
        Work(tmp_path, in_copy=fail, here=fail).run()


def interrupt(_):
    raise KeyboardInterrupt


def test_an_interrupt_ends_the_copies_at_once(tmp_path):
    work = Work(tmp_path, in_copy=lambda _: time.sleep(1000), here=interrupt)
    with pytest.raises(KeyboardInterrupt):
        work.run(processes=3)


def test_ctrl_c_is_left_to_this_process_by_its_copies(tmp_path):
    work = Work(tmp_path, in_copy=lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert {process for _, process in work.run()} - {os.getpid()}


def test_a_signal_that_comes_while_a_copy_is_started_is_not_lost(tmp_path):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    Work(tmp_path).run()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_copy_whose_parent_is_killed_ends_after_its_task():
    with subprocess.Popen([sys.executable, "-c", ORPHAN], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        copy = int(process.stdout.readline())
        process.kill()
        end = time.monotonic() + SECONDS
        while is_running(copy) and time.monotonic() < end:
            time.sleep(0.02)
        assert not is_running(copy)
        assert len(process.stdout.readlines()) < 100


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_without_room_for_another_copy_those_that_were_started_do_the_tasks(tmp_path):
    ends = os.pipe()
    for end in ends:
        os.close(end)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    work = Work(tmp_path)
    work.started.touch()
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(ends) + 1, hard)
    )  # the queue of the tasks, and the results of one copy
    try:
        found = work.run(processes=4)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [number for number, _ in found] == list(range(20))


def test_no_file_stays_open(tmp_path):
    before = os.listdir("/proc/self/fd")
    Work(tmp_path).run(processes=3)
    assert os.listdir("/proc/self/fd") == before


def test_as_many_processes_work_as_there_are_processors_and_one_where_forking_is_rare(monkeypatch):
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert count_processes() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert count_processes() == min(len(allowed), 4)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert count_processes() == 1
