"""Commands of the user: started in a group of their own, and killed with everything that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scopes.child_process import Guard, before_fatal_signals, kill_group, start_group


def shell(script, data=b"", **options):
    return start_group(["/bin/sh", "-c", script], data, stdout=subprocess.PIPE, **options)


def is_running(pid):
    """Return True if a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("data", [b"", b"a\0b", b"x" * 1_000_000], ids=["nothing", "a NUL", "more than a pipe holds"])
def test_a_command_reads_all_of_its_input(data):
    with shell("cat", data) as process:
        assert process.communicate()[0] == data


def test_without_input_the_null_device_is_read():
    with shell("cat; readlink /proc/self/fd/0", None) as process:
        assert process.communicate()[0] == b"/dev/null\n"


def test_the_environment_is_the_given_one_alone():
    with shell("echo $A; env | grep -c HOME", b"", environ={"A": "b"}) as process:
        assert process.communicate()[0] == b"b\n0\n"


def test_a_command_that_does_not_exist_is_an_error_of_the_system():
    with pytest.raises(FileNotFoundError):
        start_group(["/nowhere/command"], b"text", stdout=subprocess.DEVNULL)


def test_the_process_group_is_not_ours():
    with shell("cat") as process:
        assert os.getpgid(0) != process.pid
        assert process.wait() == 0


def test_a_killed_group_takes_its_background_processes_with_it(tmp_path):
    with shell(f"sleep 60 & echo $! > {tmp_path}/pid; echo started; wait", b"") as process:
        process.stdout.readline()
        kill_group(process)
        assert process.wait() == -signal.SIGKILL
        assert process.stdout.read() == b""  # the background process had the pipe open as well
    background = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while is_running(background) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(background)


def test_a_group_that_has_ended_can_be_killed_again():
    with shell("true") as process:
        process.wait()
        kill_group(process)


def test_a_guard_that_was_ended_kills_nothing():
    guard = Guard()
    with shell("read -r line; echo $line", b"hello\n", guard=guard) as process:
        guard.end()
        assert (process.communicate()[0], process.returncode) == (b"hello\n", 0)


def test_a_guard_of_a_command_that_does_not_start_can_be_ended():
    guard = Guard()
    with pytest.raises(FileNotFoundError):
        start_group(["/nowhere/command"], None, stdout=subprocess.DEVNULL, guard=guard)
    guard.end()
    guard.end()


@pytest.mark.parametrize("moment", ["before", "after"], ids=["before the command", "after its start"])
def test_the_group_dies_with_the_process_that_had_the_guard(tmp_path, moment):
    """The child names itself before it is the command, so no moment is without a guard."""
    script = f"""
import os, signal, subprocess
from scopes.child_process import Guard, start_group
guard = Guard()
named = guard.name_group
def name_group():
    with open("{tmp_path}/pid", "w") as file:
        file.write(str(os.getpid()))
    if {moment!r} == "before":
        os.kill(os.getppid(), signal.SIGKILL)
    named()
guard.name_group = name_group
start_group(["sleep", "60"], None, stdout=subprocess.DEVNULL, guard=guard)
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", script], cwd=root, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    deadline, command = time.monotonic() + 30, int((tmp_path / "pid").read_text())
    while is_running(command) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(command)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_ignored_stops_no_program(number):
    """As in a background command of a shell without job control: after the block it would end nothing."""
    stopped = []
    handler = signal.signal(number, signal.SIG_IGN)
    try:
        with before_fatal_signals(lambda: stopped.append(number)):
            signal.raise_signal(number)
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, handler)
    assert not stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_heeded_stops_the_program_first(number):
    seen = []
    handler = signal.signal(number, lambda *_: seen.append("delivered"))
    try:
        with before_fatal_signals(lambda: seen.append("stopped")):
            signal.raise_signal(number)
    finally:
        signal.signal(number, handler)
    assert seen == ["stopped", "delivered"]
