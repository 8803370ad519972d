"""One run of a conversation at a time, in one process or several."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import Busy, Inaccessible
from scopes.facts.decide import promote
from scopes.facts.list import list_facts, log_cycles
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from tests.cli.running import PRODUCT, command_line, environment
from tests.support.random_ids import hashed_counter

CONV = "conv-001"


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """Two conversations with a fact each, and an agent."""
    register(repository, "ann", dependencies=["Seeds"])
    for name in (CONV, "conv-002"):
        new(repository)
        propose(repository, name, Proposal(key="Seeds", content="slow", agent="carol", id="slow"))
        promote(repository, name, "slow")
    return repository


def run(repository, command, conversation=CONV):
    return run_programs(repository, conversation, {"ann": command}, RunLimits())


def wait_for(path):
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.02)


@pytest.fixture
def running(store, tmp_path):
    """Start a run whose agent waits until the file `go` exists; return that file and what counts the programs."""
    started, go = tmp_path / "started", tmp_path / "go"
    command = f"echo x >> {started}; until test -e {go}; do sleep 0.02; done"
    thread = threading.Thread(target=run, args=(store, command))
    thread.start()
    wait_for(started)
    yield command, started, go
    go.touch()
    thread.join()


def test_a_second_run_is_refused_and_no_program_runs_twice(store, running):
    """A stranger paid for every agent twice, and the log could not tell the runs apart."""
    command, started, go = running
    with pytest.raises(Busy, match="another process runs the agents of conv-001 now") as busy:
        run(store, command)
    assert (busy.value.exit_code, busy.value.retryable) == (6, True)
    assert started.read_text() == "x\n"
    go.touch()


def test_another_conversation_runs_meanwhile(store, running):
    assert run(store, "true", "conv-002").ending == "converged"
    assert running[1].read_text() == "x\n"


def test_after_the_end_of_a_run_the_next_one_begins(store, tmp_path):
    assert [run(store, f"echo x >> {tmp_path}/count").ending for _ in range(2)] == ["converged", "converged"]
    assert (tmp_path / "count").read_text() == "x\n"
    assert len(log_cycles(store, CONV).cycles) == 1
    assert verify(store).findings == ()


def test_a_program_that_runs_its_own_conversation_is_refused(store):
    """It would wait for itself."""
    words = command_line("--store", store.path, "facts", "run", CONV, "--agent", "ann=true", table=PRODUCT)
    done = run(store, shlex.join(words))
    assert done.failed == ("ann",)
    assert done.cycles[0].ran[0].problem.startswith("failed with exit code 6: hint: wait for its end")


def test_a_killed_run_blocks_no_later_one(store, tmp_path):
    """The kernel releases the lock, also if the program is still running for a moment."""
    command = f"ann=touch {tmp_path}/started; sleep 300"
    words = command_line("--store", store.path, "facts", "run", CONV, "--agent", command, table=PRODUCT)
    process = subprocess.Popen(words, env=environment(), stdin=subprocess.DEVNULL, start_new_session=True)
    wait_for(tmp_path / "started")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert run(store, "true").ending == "converged"


def test_a_run_that_cannot_be_locked_runs_no_program(store, tmp_path):
    Path(store.path, "runs").write_text("in the way")
    with pytest.raises(Inaccessible, match="cannot lock a run"):
        run(store, f"touch {tmp_path}/started")
    assert not (tmp_path / "started").exists()


HOSTILE = ["../../planted", "{folder}/planted", "", "a\0b", "\ud800", "a/b", "..", ".git", "a" * 5_000]


@pytest.mark.parametrize("uuid", HOSTILE)
def test_a_uuid_that_is_no_name_of_a_file_writes_nothing_outside_the_store(repository, tmp_path, monkeypatch, uuid):
    """The uuid is in the root commit, which another person may have written."""
    monkeypatch.setattr("scopes.conversation.new_rename_delete.new_uuid", lambda: uuid.format(folder=tmp_path))
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    propose(repository, CONV, Proposal(key="Seeds", content="slow", agent="carol", id="slow"))
    promote(repository, CONV, "slow")
    before = sorted(tmp_path.rglob("*planted*"))
    assert run(repository, "true").ending == "converged"
    assert [row.fact.id for row in list_facts(repository, CONV).facts] == ["slow"]
    assert sorted(tmp_path.rglob("*planted*")) == before
    assert verify(repository).exit_code == 0
