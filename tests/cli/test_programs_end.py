"""Programs of agents end with the command that started them, whatever signal it gets."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, command_line, environment

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


def is_running(pid):
    """Return True if a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(is_true, what):
    deadline = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def agents(tmp_path):
    """A conversation with a fact, two agents with programs that hang, and a message for each."""
    conversation = Conversation(tmp_path)
    for name in ("ann", "bob"):
        conversation.run("agents", "register", name, "--depends-on", "Seeds", "--json")
    conversation.run("facts", "propose", conversation.id, "Seeds", "it is slow", "--data", '{"id": "slow"}', "--json")
    conversation.run("facts", "accept", conversation.id, "slow", "--json")
    conversation.run("send", conversation.id, "--as", "carol", "--to", "ann", "--to", "bob", "hello", "--json")
    return conversation


def hanging(pids):
    """Return a command that writes the ids of its shell and of a background process, and never ends."""
    return f"sleep 300 & echo $$ $! > {pids}.part; mv {pids}.part {pids}; cat > /dev/null; wait"


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("command", ["facts", "run", "conv-001"]),
        ("delivery", ["inbox", "ann", "--deliver"]),
        ("delivery", ["send", "conv-001", "--as", "carol", "--to", "ann", "more"]),
    ],
    ids=["facts run", "inbox", "send"],
)
def test_a_program_ends_with_the_command_that_started_it(agents, tmp_path, number, setting, words):
    names = ("ann", "bob") if setting == "command" else ("ann",)
    settings = [f"scopes.agent.{name}.{setting}={hanging(tmp_path / name)}" for name in names]
    options = [word for each in settings for word in ("-c", each)]
    line = command_line("--store", agents.store, *options, *words, table=PRODUCT)
    process = subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: all((tmp_path / name).exists() for name in names), "the programs did not start")
    pids = [int(pid) for name in names for pid in (tmp_path / name).read_text().split()]
    assert all(map(is_running, pids))
    os.kill(process.pid, number)
    assert process.wait(30) != 0
    wait_until(lambda: not any(map(is_running, pids)), "a program goes on")
    assert agents.run("verify", "--json")["findings"] == []


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("given", ["none", "context"])
def test_the_command_of_bisect_ends_with_it(agents, tmp_path, number, given):
    """After SIGKILL it went on, with all that it had started."""
    pids = tmp_path / "pids"
    words = ("bisect", agents.id, "--input", given, "--", "sh", "-c", hanging(pids))
    line = command_line("--store", agents.store, *words, table=PRODUCT)
    process = subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(pids.exists, "the command did not start")
    started = [int(pid) for pid in pids.read_text().split()]
    os.kill(process.pid, number)
    assert process.wait(30) != 0
    wait_until(lambda: not any(map(is_running, started)), "the command goes on")
