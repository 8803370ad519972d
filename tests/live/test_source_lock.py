"""One process at a time imports a source, at most one waits, and nobody's turn is lost."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading

import pytest

from scopes.live import file_lock as module
from scopes.live.source_lock import source_lock
from tests.cli.running import ROOT

HOLD = """
import sys, time
from scopes.live.source_lock import source_lock
with source_lock(sys.argv[1], "store", "session") as ours:
    print(ours, flush=True)
    sys.stdin.read() if ours else None
"""


class Holder:
    """A process that takes the lock and holds it until it is released or killed."""

    def __init__(self, directory):
        words = [sys.executable, "-c", HOLD, directory]
        environ = {**os.environ, "PYTHONPATH": ROOT}
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.communicate("")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def holders(tmp_path):
    started = []

    def start():
        started.append(Holder(str(tmp_path)))
        return started[-1]

    yield start
    for holder in started:
        if not holder.process.stdout.closed:
            holder.kill()


def wait_for_waiting(directory):
    """Wait until a process waits for the lock."""
    for _ in range(2000):
        if any(name.endswith(".waiting") for name in os.listdir(directory)):
            return
        threading.Event().wait(0.005)
    raise AssertionError("nobody waits")


def test_a_second_process_waits_and_a_third_has_nothing_to_do(holders, tmp_path):
    first = holders()
    assert first.line() == "True"
    second = holders()
    wait_for_waiting(tmp_path)
    third = holders()
    assert third.line() == "False"
    first.end()
    assert second.line() == "True"


def test_the_death_of_a_holder_lets_the_next_one_in(holders, tmp_path):
    first = holders()
    assert first.line() == "True"
    second = holders()
    wait_for_waiting(tmp_path)
    first.kill()
    assert second.line() == "True"


def test_the_death_of_the_waiting_one_leaves_its_place_free(holders, tmp_path):
    first = holders()
    assert first.line() == "True"
    second = holders()
    wait_for_waiting(tmp_path)
    second.kill()
    third = holders()
    wait_for_waiting(tmp_path)
    first.end()
    assert third.line() == "True"


def test_nothing_is_left_of_a_lock_that_was_released(tmp_path):
    with source_lock(str(tmp_path), "a", "b") as ours:
        assert ours
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_other_sources_have_other_locks(tmp_path):
    with source_lock(str(tmp_path), "store", "a") as one, source_lock(str(tmp_path), "store", "b") as two:
        assert one
        assert two


def test_many_threads_never_hold_it_together_and_the_last_change_is_seen(tmp_path):
    """What a counter has when a thread begins is seen by an import that begins later, its own or another one's."""
    state = {"value": 0, "seen": 0, "inside": 0, "most": 0}
    guard = threading.Lock()

    def work():
        for _ in range(20):
            with guard:
                state["value"] += 1
            with source_lock(str(tmp_path), "x") as ours:
                if not ours:
                    continue
                state["inside"] += 1
                state["most"] = max(state["most"], state["inside"])
                with guard:
                    state["seen"] = max(state["seen"], state["value"])
                state["inside"] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state["most"] == 1
    assert state["seen"] == state["value"] == 160
    assert os.listdir(tmp_path) == []


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    with source_lock(str(tmp_path / "locks"), "x"):
        (name,) = os.listdir(tmp_path / "locks")
    os.symlink(tmp_path / "victim", tmp_path / "locks" / name.replace("running", "waiting"))
    with pytest.raises(OSError, match="symbolic links"), source_lock(str(tmp_path / "locks"), "x"):
        pass
    assert not (tmp_path / "victim").exists()


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError), source_lock(str(tmp_path / "file" / "locks"), "x"):
        pass


def test_a_lock_that_is_deleted_while_it_is_waited_for_is_taken_again(tmp_path, monkeypatch):
    """A holder deletes the file when it is done; whoever has waited has the lock of a file that is gone."""
    taken = []
    is_at = module._is_at

    def look(path, descriptor):
        taken.append(path)
        if len(taken) == 1:
            os.unlink(path)
        return is_at(path, descriptor)

    monkeypatch.setattr(module, "_is_at", look)
    with source_lock(str(tmp_path), "x") as ours:
        assert ours
    assert len(taken) == 3


@pytest.mark.parametrize("which", [".waiting", ".running"])
def test_a_lock_whose_file_is_always_replaced_is_an_error_and_not_an_import_without_it(tmp_path, monkeypatch, which):
    """It counted as the lock: two imports could have run at once."""
    is_at = module._is_at
    monkeypatch.setattr(module, "_is_at", lambda path, number: not path.endswith(which) and is_at(path, number))
    with pytest.raises(OSError, match="was replaced each time") as error, source_lock(str(tmp_path), "a"):
        raise AssertionError("no lock, and nobody knows")
    assert error.value.errno == errno.EBUSY
    assert [name for name in os.listdir(tmp_path) if not name.endswith(which)] == []
