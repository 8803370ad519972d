"""The lock of a store, held by real processes: waiting, naming the holder, and dead holders."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time

import pytest

from scopes.errors import Busy, Inaccessible
from scopes.store import locks
from scopes.store.locks import LOCK_FILE, TURNSTILE_FILE, StoreLock, defer_signals
from tests.support.store import MAIN, Process, assert_sound, make_branch, run, subjects, write_bytes

HOLD = """
from scopes.store.locks import StoreLock
with getattr(StoreLock(path), sys.argv[2])():
    print('held', os.getpid(), flush=True)
    sys.stdin.read()
"""


class Holder:
    """A process that holds the lock until it is released."""

    def __init__(self, directory, how):
        self.process = Process(HOLD, directory, how)
        self.pid = int(self.process.read_line().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.popen.returncode is None:
            self.process.kill()


def take(directory, how="exclusive", seconds=0):
    with getattr(StoreLock(str(directory), seconds), how)():
        return True


def test_appends_share_the_lock(tmp_path):
    with Holder(tmp_path, "shared"), Holder(tmp_path, "shared"):
        assert take(tmp_path, "shared")


@pytest.mark.parametrize(
    ("held", "wanted"), [("exclusive", "shared"), ("exclusive", "exclusive"), ("shared", "exclusive")]
)
def test_the_exclusive_lock_excludes_all_others(tmp_path, held, wanted):
    with Holder(tmp_path, held), pytest.raises(Busy):
        take(tmp_path, wanted)
    assert take(tmp_path, wanted)


def test_after_the_timeout_the_error_names_the_holder(tmp_path):
    """E-48."""
    with Holder(tmp_path, "exclusive") as holder:
        began = time.monotonic()
        with pytest.raises(Busy, match=f"process {holder.pid} holds it") as caught:
            take(tmp_path, seconds=1)
    assert 1 <= time.monotonic() - began < 3
    assert caught.value.exit_code == 6
    assert caught.value.retryable


def test_a_former_holder_is_not_named(tmp_path):
    """The former holder is this process, which is still running."""
    assert take(tmp_path)
    with Holder(tmp_path, "shared"), pytest.raises(Busy) as caught:
        take(tmp_path)
    assert caught.value.message == "the store is busy"


def test_a_timeout_does_not_remove_the_name_of_the_holder(tmp_path):
    with Holder(tmp_path, "exclusive") as holder:
        for _ in range(2):
            with pytest.raises(Busy, match=str(holder.pid)):
                take(tmp_path)


@pytest.mark.parametrize("what", [b"garbage", b"\xff\xfe", b"0", b"-1", b"99999999", b"9" * 30])
def test_a_dead_or_invalid_holder_is_not_named(tmp_path, what):
    with Holder(tmp_path, "shared"):
        write_bytes(tmp_path / LOCK_FILE, what)
        with pytest.raises(Busy) as caught:
            take(tmp_path)
    assert caught.value.message == "the store is busy"


@pytest.mark.parametrize("how", ["shared", "exclusive"])
def test_a_killed_process_releases_the_lock(tmp_path, how):
    """E-49."""
    with Holder(tmp_path, how) as holder:
        holder.process.kill()
        assert take(tmp_path)


def test_a_waiting_process_gets_the_lock_as_soon_as_it_is_free(tmp_path):
    with Holder(tmp_path, "exclusive") as holder:
        waiter = Process(
            "from scopes.store.locks import StoreLock\nwith StoreLock(path).exclusive(): print('got it')", tmp_path
        )
        holder.process.finish()
        assert waiter.finish() == "got it"


def test_a_process_that_waits_long_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_SILENT_SECONDS", 0.05)
    lock, notes = StoreLock(str(tmp_path), 1), []
    lock.on_wait = notes.append
    with Holder(tmp_path, "exclusive") as holder:
        with pytest.raises(Busy), lock.exclusive():
            pass
        assert notes == [f"the store is busy: process {holder.pid} holds it; waiting up to 1 s"]


def test_a_process_that_waits_shortly_says_nothing(tmp_path):
    lock, notes = StoreLock(str(tmp_path), 1), []
    lock.on_wait = notes.append
    with Holder(tmp_path, "exclusive"), pytest.raises(Busy), lock.exclusive():
        pass
    assert notes == []


def test_an_exclusive_writer_is_not_starved_by_appends(tmp_path):
    """E-50: four processes share the lock so that it is never free."""
    code = """
from scopes.store.locks import StoreLock
lock = StoreLock(path)
print('go', flush=True)
end = time.monotonic() + 8
while time.monotonic() < end and not os.path.exists(path + '/stop'):
    with lock.shared(): time.sleep(0.02)
"""
    stream = [Process(code, tmp_path) for _ in range(4)]
    assert [process.read_line() for process in stream] == ["go"] * 4
    waits = []
    for _ in range(5):
        began = time.monotonic()
        take(tmp_path, seconds=5)
        waits.append(time.monotonic() - began)
    write_bytes(tmp_path / "stop", b"")
    assert max(waits) < 2, waits
    assert [process.finish() for process in stream] == [""] * 4


@pytest.mark.parametrize("umask", ["0", "0o22"])
def test_lock_files_are_readable_by_the_owner_alone_and_the_umask_is_restored(tmp_path, umask):
    """P13: with a umask that would allow more."""
    code = f"""
from scopes.store.locks import StoreLock
os.umask({umask})
with StoreLock(path).exclusive(): write_bytes(path + '/inside', b'')
write_bytes(path + '/after', b'')
"""
    run(code, tmp_path)
    modes = {name: stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)}
    after = 0o666 & ~int(umask, 0)
    assert modes == {LOCK_FILE: 0o600, TURNSTILE_FILE: 0o600, "inside": 0o600, "after": after}


def test_a_missing_directory_cannot_be_locked(tmp_path):
    with pytest.raises(Inaccessible, match="No such file or directory") as caught:
        take(tmp_path / "gone")
    assert caught.value.exit_code == 8


def test_an_exception_releases_the_lock_and_restores_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with pytest.raises(KeyError), StoreLock(str(tmp_path)).exclusive():
            raise KeyError
        assert take(tmp_path)
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_no_descriptor_is_left_open(tmp_path):
    take(tmp_path)
    with Holder(tmp_path, "shared"):
        pass  # the first child starts the server of all of them
    before = len(os.listdir("/proc/self/fd"))
    with Holder(tmp_path, "shared"):
        inside = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(Busy):
                take(tmp_path)
        assert len(os.listdir("/proc/self/fd")) == inside
    take(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_lock_works_between_threads(tmp_path):
    """Each thread has its own lock object, because the kernel locks open files, not threads."""
    inside = threading.Event()
    leave = threading.Event()

    def hold():
        with StoreLock(str(tmp_path)).exclusive():
            inside.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(10)
    with pytest.raises(Busy):
        take(tmp_path)
    leave.set()
    holder.join()
    assert take(tmp_path)


@pytest.fixture(autouse=True)
def handlers():
    """Let every deferred signal raise an exception, as the command line does for Ctrl-C."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(number, frame):
        raise KeyboardInterrupt(number)

    before = {number: signal.signal(number, interrupt) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_is_delivered_after_the_block(number):
    """P12."""
    done = []

    def work():
        with defer_signals():
            signal.raise_signal(number)
            done.append("inside")
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside"]


def test_signals_blocked_before_stay_blocked_after():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        with defer_signals():
            inside = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        after = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= inside
    assert after == {*before, signal.SIGHUP}


def test_nested_blocks_defer_until_the_outer_one_ends():
    done = []

    def work():
        with defer_signals():
            with defer_signals():
                signal.raise_signal(signal.SIGINT)
            done.append("still inside")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["still inside"]


def test_an_exception_in_the_block_comes_first_and_restores_the_signals():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(ValueError, match="inside"), defer_signals():
        raise ValueError("inside")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_in_another_thread_nothing_is_deferred():
    """Python runs signal handlers in the main thread only."""
    masks = []

    def work():
        with defer_signals():
            masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert masks == [before]


THREADED = """
import signal, threading
from scopes.store.locks import defer_signals
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
try:
    with defer_signals():
        os.kill(os.getpid(), int(sys.argv[2]))
        for _ in range(100): time.sleep(0.001)
        print("inside", end=" ")
    for _ in range(100): time.sleep(0.001)
    print("never")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_received_by_another_thread_is_deferred(tmp_path):
    """The kernel delivers it to a thread that does not block it, and Python runs the handler in the main thread."""
    assert run(THREADED, tmp_path, int(signal.SIGINT)) == "inside interrupted"


INTERRUPTED = """
import signal
repository = open_store(path)
print("go", flush=True)
count, recorded = 0, []
repository.caller = repository.caller._replace(on_commit=recorded.append)
try:
    while True:
        recorded.clear()
        append(repository, MAIN, lambda tip: write_message(repository, str(count), tip), f"append: {count}")
        count += 1
except KeyboardInterrupt:
    print(count, *recorded or [None])
"""


def test_an_interrupted_process_reports_what_was_committed(repository):
    """P12: `committed` is set exactly if the message is recorded."""
    make_branch(repository, "root")
    for turn in range(6):
        before = len(subjects(repository))
        writer = Process(INTERRUPTED, repository.path)
        assert writer.read_line() == "go"
        threading.Event().wait(0.01 + turn / 100)
        writer.popen.send_signal(signal.SIGINT)
        count, _, committed = writer.finish().partition(" ")
        appended = subjects(repository)
        assert len(appended) - before == int(count) + (committed == f"append: {count}")
    assert_sound(repository)
    assert MAIN in repository.list_refs()
