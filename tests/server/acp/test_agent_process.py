"""The agent as a child process: what it inherits, how it is ended, and which exit code stands for its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from scopes.errors import Inaccessible, NotFound
from scopes.server.acp.agent_process import AgentProcess
from scopes.server.acp.lines import read_lines


@pytest.fixture
def start():
    """Return a function that starts a program as an agent; whatever is left of it is killed."""
    started = []

    def begin(program, grace_seconds=30.0):
        started.append(AgentProcess([sys.executable, "-I", "-S", "-c", program], grace_seconds))
        return started[-1]

    yield begin
    for agent in started:
        agent.kill_rest()
        agent.stdin.close()
        agent.wait()
        agent._process.stdout.close()


def first_line(agent):
    return next(read_lines(agent.stdout)).decode().strip()


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_that_of_the_agent(start, code):
    assert start(f"raise SystemExit({code})").wait() == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT], ids=lambda number: number.name)
def test_an_agent_that_a_signal_ended_has_the_code_of_a_shell(start, number):
    assert start(f"import os; os.kill(os.getpid(), {int(number)})").wait() == 128 + number


def test_the_agent_has_our_environment_and_directory(start, monkeypatch, tmp_path):
    """Its API keys are there."""
    monkeypatch.setenv("SOME_API_KEY", "value with blanks")
    monkeypatch.chdir(tmp_path)
    agent = start("import os; print(os.environ['SOME_API_KEY'], os.getcwd(), sep='|', flush=True)")
    assert first_line(agent) == f"value with blanks|{tmp_path.resolve()}"


def test_the_agent_leads_a_group_of_its_own(start):
    """Signals of a terminal reach it through us, once."""
    agent = start("import os; print(os.getpgid(0), flush=True); input()")
    assert int(first_line(agent)) == agent.pid != os.getpgid(0)


def test_the_end_of_its_input_ends_an_agent_that_reads(start):
    agent = start("import sys; sys.stdin.read(); sys.exit(3)")
    codes, thread = wait_in_thread(agent)
    agent.end()
    thread.join(20)
    assert codes == [3]


def wait_in_thread(agent):
    """Wait for the end as the proxy does, in a thread."""
    codes = []
    thread = threading.Thread(target=lambda: codes.append(agent.wait()))
    thread.start()
    return codes, thread


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import time; print('up', flush=True); time.sleep(600)", 128 + signal.SIGTERM),
        ("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
         128 + signal.SIGKILL),
    ],
    ids=["stopped", "killed"],
)  # fmt: skip
def test_an_agent_that_does_not_read_is_stopped_and_then_killed(start, program, code):
    agent = start(program, grace_seconds=0.05)
    assert first_line(agent) == "up"
    codes, thread = wait_in_thread(agent)
    agent.end()
    thread.join(30)
    assert codes == [code]


def test_what_an_agent_leaves_running_is_killed(start):
    """A server that a tool has started, in the group of the agent."""
    child = "import time; time.sleep(600)"
    agent = start(f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid, flush=True)")
    left = int(first_line(agent))
    agent.wait()
    os.kill(left, 0)
    agent.kill_rest()
    end = time.monotonic() + 30
    while is_running(left):
        assert time.monotonic() < end
        time.sleep(0.01)


def is_running(number):
    """Return False for a process that has ended, although nobody has waited for it."""
    try:
        with open(f"/proc/{number}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_a_signal_after_the_end_is_no_error(start):
    agent = start("pass")
    agent.wait()
    agent.send_signal(signal.SIGTERM)
    agent.end()
    agent.kill_rest()


def count_descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(
    ("command", "error", "message"),
    [
        (["/nowhere/agent"], NotFound, "the agent '/nowhere/agent' was not found"),
        (["/"], Inaccessible, "the agent '/' cannot be started: Permission denied"),
        (["\u202e"], NotFound, "the agent '\\u202e' was not found"),
    ],
    ids=["missing", "directory", "odd"],
)
def test_a_program_that_cannot_be_started_leaves_no_descriptor_open(command, error, message):
    before = count_descriptors()
    with pytest.raises(error) as caught:
        AgentProcess(command)
    assert caught.value.message == message
    assert count_descriptors() == before
