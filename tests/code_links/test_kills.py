"""A process that records commits may be killed at any moment: nothing is lost, and the store stays sound."""

from __future__ import annotations

import os
import signal
import time

import pytest

from scopes.code_links.commit_store import CommitRecords
from scopes.store.repository import open_repository
from tests.code_links.hooked import CODEX
from tests.support.fork_server import StartedProgram
from tests.support.store import ROOT, assert_sound

PROGRAM = """
import os, sys
from scopes.code_links.record_commits import record_pending
from scopes.store.repository import open_repository
from scopes.store.projects import find_worktree
repository, worktree = open_repository(sys.argv[1]), find_worktree(sys.argv[2])
print(flush=True)
sys.stdin.read(1)
record_pending(repository, worktree)
"""


@pytest.fixture
def project(hooked):
    return hooked


def start(project):
    """Start a process that records, and return it when it is about to begin."""
    words = [project.repository.path, project.directory]
    process = StartedProgram(PROGRAM, words, {**os.environ, "PYTHONPATH": ROOT}, stderr=None, cwd=os.getcwd())
    process.stdout.readline()
    process.stdin.write(b"x")
    process.stdin.flush()
    return process


def end(process, number=None):
    if number is not None:
        process.send_signal(number)
    process.wait()
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("milliseconds", [0, 2, 5, 8, 11, 14, 17, 20, 25, 30])
def test_a_kill_loses_no_commit(project, milliseconds):
    made = [project.commit(f"{number} th", **CODEX) for number in range(3)]
    process = start(project)
    time.sleep(milliseconds / 1000)
    end(process, signal.SIGKILL)
    project.repository.close()
    store = open_repository(project.repository.path)
    known = {commit for commit in made if CommitRecords(store).find(commit)}
    assert known | {each.commit for each in project.pending()} == set(made)
    project.repository = store
    project.record()
    assert [len(CommitRecords(store).find(commit)) for commit in made] == [1, 1, 1]
    assert project.pending() == []
    assert_sound(store)


def test_two_processes_at_once_record_every_commit_once(project):
    made = [project.commit(f"{number} th", **CODEX) for number in range(5)]
    processes = [start(project) for _ in range(3)]
    for process in processes:
        end(process)
        assert process.returncode == 0
    records = CommitRecords(open_repository(project.repository.path))
    assert [len(records.find(commit)) for commit in made] == [1] * 5
    assert project.pending() == []


def test_commits_while_a_process_records_are_taken_over_later(project):
    project.commit("first", **CODEX)
    process = start(project)
    later = [project.commit(f"{number} later", **CODEX) for number in range(3)]
    end(process)
    project.record()
    assert all(CommitRecords(open_repository(project.repository.path)).find(commit) for commit in later)
