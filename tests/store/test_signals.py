"""Signals are deferred until a commit is recorded, and leave what is temporary by an exception."""

from __future__ import annotations

import signal
import threading

import pytest

from scopes.store.locks import defer_signals, unwound
from tests.support.store import MAIN, Process, assert_sound, make_branch, run, subjects


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
from scopes.store.locks import defer_signals, unwound
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
count = 0
try:
    while True:
        repository.committed = None
        append(repository, MAIN, lambda tip: write_message(repository, str(count), tip), f"append: {count}")
        count += 1
except KeyboardInterrupt:
    print(count, repository.committed)
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


def test_a_signal_leaves_the_block_and_ends_the_process_behind_it():
    code = """
import os, signal
from scopes.store.locks import unwound
signal.signal(signal.SIGTERM, signal.SIG_DFL)
with unwound():
    try:
        with unwound():
            signal.raise_signal(signal.SIGTERM)
            print("never")
    finally:
        signal.raise_signal(signal.SIGTERM)
        print("tidied", flush=True)
print("never")
"""
    process = Process(code, "/")
    out, err = process.popen.communicate(timeout=60)
    assert (out, err, process.popen.returncode) == ("tidied\n", "", -signal.SIGTERM)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None], ids=["ignored", "a function"])
def test_a_signal_with_a_handler_leaves_no_block(handler):
    before = signal.signal(signal.SIGTERM, handler)
    try:
        with unwound():
            signal.raise_signal(signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) == handler
        assert signal.getsignal(signal.SIGTERM) == handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_block_without_a_signal_leaves_the_handlers_as_they_were():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    with unwound():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before
