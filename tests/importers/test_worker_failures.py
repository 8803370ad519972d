"""Imports whose workers die, fail or are interrupted at bad moments: one plain error, no process left, no half result."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import time
from contextlib import suppress

import pytest

from scopes.errors import Inaccessible
from scopes.importers import import_groups
from scopes.importers import import_source as import_module
from scopes.importers.worker_pool import WorkerPool, count_workers
from scopes.store.config import Setting
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.support.fork_server import DEVNULL, StartedProgram, find_server
from tests.support.store import FAST, ROOT, assert_sound, make_store, open_store


def ignore(*arguments):
    pass


def count_pipes():
    """Return the number of open ends of pipes."""
    found = 0
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):
            found += os.readlink(f"/dev/fd/{name}").startswith("pipe:")
    return found


def children():
    """Return the children of this process, running or not waited for; those of other tests stay."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            parent = file.read().rpartition(")")[2].split()[1]
            found |= {name} if parent == str(os.getpid()) else set()
    return found


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Every pool of this file leaves no child, no open pipe and no blocked signal."""
    find_server()  # it is a child, too, from its first use on
    before = count_pipes(), signal.pthread_sigmask(signal.SIG_BLOCK, []), children()
    yield
    assert (count_pipes(), signal.pthread_sigmask(signal.SIG_BLOCK, []), children()) == before


# The pool


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("tasks", [0, 1, 2])
def test_there_may_be_fewer_tasks_than_workers(count, tasks):
    with WorkerPool(count, lambda number, _: number * 2, ignore, ignore) as pool:
        assert sorted(pool.run(range(tasks), ignore)) == [number * 2 for number in range(tasks)]
        pool.finish()


def test_one_worker_does_the_tasks_in_their_order():
    with WorkerPool(1, lambda number, _: number, ignore, ignore) as pool:
        assert list(pool.run([3, 1, 2], ignore)) == [3, 1, 2]


def test_a_slow_task_does_not_hold_up_the_others():
    """The first task ends after all others: the other worker does these."""
    seen = []
    with WorkerPool(2, lambda number, _: time.sleep(0.3 * (number == 0)) or number, ignore, ignore) as pool:
        seen += pool.run(range(8), ignore)
    assert seen[-1] == 0
    assert sorted(seen) == list(range(8))


def test_progress_of_a_task_comes_before_its_result():
    def work(number, report):
        for step in range(3):
            report(number * 10 + step)
        return number

    events = []
    with WorkerPool(3, work, ignore, ignore) as pool:
        for result in pool.run(range(6), events.append):
            assert [step for step in events if step // 10 == result] == [result * 10 + step for step in range(3)]


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt(), SystemExit(3), RecursionError("deep")], ids=repr)
def test_any_kind_of_error_in_a_worker_is_raised_here_and_never_ends_the_worker_silently(error):
    def fail(number, report):
        raise error

    pool = WorkerPool(2, fail, ignore, ignore)
    with pytest.raises(type(error)) as raised, pool:
        list(pool.run(range(4), ignore))
    assert raised.value.args == error.args


def test_a_worker_without_memory_is_an_error_and_not_a_wrong_result():
    def work(number, report):
        limit = 1 << 30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return len(bytes(limit * 2))

    with pytest.raises(MemoryError), WorkerPool(2, work, ignore, ignore) as pool:
        list(pool.run(range(2), ignore))


def test_a_result_that_cannot_be_sent_is_an_error_and_is_not_waited_for():
    with pytest.raises(Inaccessible), WorkerPool(2, lambda number, _: lambda: number, ignore, ignore) as pool:
        list(pool.run(range(2), ignore))


def test_a_worker_that_dies_without_a_task_is_noticed_while_the_others_work():
    """The store would lack what the dead worker wrote."""

    def work(number, report):
        report(os.getpid())
        time.sleep(30 * (number == 1))

    def kill_first(pid):
        pids.append(pid)
        if len(pids) == 2:
            os.kill(pids[0], signal.SIGKILL)

    pids = []
    began = time.monotonic()
    with pytest.raises(Inaccessible, match="was killed"), WorkerPool(2, work, ignore, ignore) as pool:
        list(pool.run(range(2), kill_first))
    assert time.monotonic() - began < 20


def test_a_worker_that_dies_after_its_last_task_cannot_keep_its_objects():
    with WorkerPool(2, lambda number, _: os.getpid(), ignore, ignore) as pool:
        [pid, _] = pool.run(range(2), ignore)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(Inaccessible, match="was killed"):
            pool.finish()


def test_a_worker_that_dies_in_finish_is_an_error():
    with WorkerPool(2, ignore, lambda: os._exit(0), ignore) as pool:
        list(pool.run(range(2), ignore))
        with pytest.raises(Inaccessible, match="was killed"):
            pool.finish()


def test_a_run_that_is_left_early_ends_its_workers():
    began = time.monotonic()
    with WorkerPool(3, lambda number, _: time.sleep(60 * (number > 0)), ignore, ignore) as pool:
        for _ in pool.run(range(10), ignore):
            break
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize(("call", "code"), [("fork", errno.EAGAIN), ("fork", errno.ENOMEM), ("pipe", errno.EMFILE)])
def test_a_worker_that_cannot_be_started_is_a_plain_error_and_ends_those_before_it(monkeypatch, failing, call, code):
    """As with `ulimit -u` or `ulimit -n`."""
    original, calls = getattr(os, call), []

    def fail():
        calls.append(1)
        if len(calls) - (call == "pipe") == failing:  # the first pipe is no worker's
            raise OSError(code, os.strerror(code))
        return original()

    monkeypatch.setattr(os, call, fail)
    cleaned = []
    with pytest.raises(Inaccessible, match=f"cannot start a worker.*{os.strerror(code)}") as raised:
        WorkerPool(3, ignore, ignore, cleaned.append).__enter__()
    assert raised.value.hint == "set scopes.importWorkers to 1"
    assert len(cleaned) == (failing - 1 if call == "fork" else (failing - 1) // 2)


@pytest.mark.parametrize(("asked", "count"), [("1", 1), ("3", 3), ("64", 64), ("1000", 64)])
def test_the_number_of_workers_is_the_setting_within_limits(tmp_path, asked, count):
    setting = Setting("scopes.importWorkers", asked, "flag")
    assert count_workers(make_store(tmp_path / "s.git", {**FAST, "scopes.importworkers": setting})) == count


def test_without_a_setting_there_are_no_more_workers_than_processors(tmp_path, monkeypatch):
    repository = make_store(tmp_path / "s.git")
    for processors, count in ((1, 1), (2, 2), (64, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=processors: set(range(n)), raising=False)
        monkeypatch.setattr(sys, "platform", "linux")
        assert count_workers(repository) == count
    monkeypatch.setattr(sys, "platform", "darwin")
    assert count_workers(repository) == 1


# Whole imports


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Write six sessions, the first one with the most bytes; small imports have workers."""
    monkeypatch.setattr(import_groups, "BYTES_PER_WORKER", 1)
    (tmp_path / "sources").mkdir()
    return [
        write_transcript(
            tmp_path / "sources" / f"s{n}.jsonl",
            *session_records(f"s{n}", " ".join(f"w{n}x{m}" for m in range(12 - n))),
        )
        for n in range(6)
    ]


def store_of(tmp_path, workers):
    setting = Setting("scopes.importWorkers", str(workers), "flag")
    return make_store(tmp_path / f"{workers}.git", {**FAST, "scopes.importworkers": setting})


def test_conversations_are_numbered_in_the_order_of_the_sources_whichever_is_done_first(tmp_path, sources, monkeypatch):
    original = import_module.write_source_record

    def write(objects, previous, record, *arguments, **named):
        time.sleep(0.2 * (record.native_id in ("s0", "s3")))
        return original(objects, previous, record, *arguments, **named)

    monkeypatch.setattr(import_module, "write_source_record", write)
    repository = store_of(tmp_path, 3)
    done = import_demo(repository, *sources)
    assert [os.path.basename(row.path) for row in done.sources] == [f"s{n}.jsonl" for n in range(6)]
    for n in range(6):
        assert branch_words(repository, conversation=f"conv-{n + 1:03}").split()[0] == f"w{n}x0"


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt(), RuntimeError("a defect")], ids=repr)
def test_an_import_that_fails_in_a_worker_stores_nothing_and_can_be_repeated(tmp_path, sources, monkeypatch, error):
    original = import_module.write_source_record

    def write(objects, previous, record, *arguments, **named):
        if record.native_id == "s4":
            raise error
        return original(objects, previous, record, *arguments, **named)

    repository = store_of(tmp_path, 3)
    with monkeypatch.context() as patched:
        patched.setattr(import_module, "write_source_record", write)
        with pytest.raises(type(error)):
            import_demo(repository, *sources)
    assert repository.list_refs() == {}
    assert len(import_demo(repository, *sources).conversations) == 6
    assert_sound(repository)


IMPORT = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it, and children inherit that
from scopes.importers import import_groups, import_source
from scopes.store.config import Setting
from tests.importers.demo_format import DemoFormat
from scopes.importers.formats.base import Source
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.support.store import FAST, open_store
import os
import_groups.BYTES_PER_WORKER = 1
def wait(*arguments, **named):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(60)
import_source.write_source_record = wait
setting = Setting("scopes.importWorkers", "2", "flag")
repository = open_store(sys.argv[1], {**FAST, "scopes.importworkers": setting})
sources = [Source(path, os.path.getsize(path)) for path in sys.argv[2:]]
import_sources(repository, sources, (DemoFormat(),), ImportOptions(), on_progress=lambda _: None)
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("to_all", [True, False], ids=["as Ctrl-C", "to the parent alone"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_an_interrupted_import_leaves_no_process_and_a_store_that_can_be_used(tmp_path, sources, number, to_all):
    """A terminal sends Ctrl-C to all processes; a supervisor signals the parent only."""
    store = make_store(tmp_path / "store.git").path
    words = [store, *(source.path for source in sources)]
    with StartedProgram(IMPORT, words, os.environ, stderr=DEVNULL, new_session=True, cwd=ROOT) as parent:
        pids = [int(parent.stdout.readline()) for _ in range(2)]
        (os.killpg if to_all else os.kill)(parent.pid, number)
        assert parent.wait(20) != 0
    deadline = time.monotonic() + 20
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, pids))
    repository = open_store(store)
    assert repository.list_refs() == {}
    assert len(import_demo(repository, *sources).conversations) == 6
    assert_sound(repository)
