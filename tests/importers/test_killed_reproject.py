"""A new reading that is killed at any moment: all of it or nothing, and the next one works."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from scopes.conversation.verify import verify
from scopes.importers.reproject import reproject
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.importers.test_import_groups import refs_of
from tests.importers.test_reproject import reworded
from tests.support.fork_server import DEVNULL, StartedProgram
from tests.support.history import say
from tests.support.store import FULL, ROOT, git, make_store, open_store

SESSIONS = 30
RUN = """
import sys
from scopes.importers.reproject import reproject
from tests.importers.test_reproject import reworded
from tests.support.store import FULL, open_store
repository = open_store(sys.argv[1], FULL)
print("begin", flush=True)
reproject(repository, (), (reworded("b", "B"),))
print("end", flush=True)
"""


@pytest.fixture
def template(tmp_path):
    """The path of a store with sessions, with messages on top of them."""
    store = make_store(tmp_path / "template.git", FULL)
    records = (session_records(f"s{number}", f"a b c{number} d") for number in range(SESSIONS))
    import_demo(store, *[write_transcript(tmp_path / f"{n}.jsonl", *each) for n, each in enumerate(records)])
    say(store, "conv-001", "mine")
    return store.path


def start(store):
    environment = {**os.environ, "PYTHONPATH": ROOT}
    return StartedProgram(RUN, [store], environment, stderr=DEVNULL, text=True, new_session=True, cwd=ROOT)


def kill_after(store, seconds):
    """Kill a run some time after it has begun; without a time, return how long it takes."""
    with start(store) as process:
        assert process.stdout.readline() == "begin\n"
        begin = time.monotonic()
        if seconds is None:
            assert process.stdout.readline() == "end\n"
        else:
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGKILL)
        return time.monotonic() - begin


def texts_of(store):
    """Return the commits of all branches: operations and maps have ids of their own in each store."""
    return {ref: oid for ref, oid in refs_of(store).items() if ref.startswith(("refs/heads/", "refs/scopes/tracking/"))}


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=[pytest.mark.sweep, pytest.mark.timeout(1800)])])
@pytest.mark.slow
def test_a_new_reading_that_is_killed_is_there_as_a_whole_or_not_at_all(tmp_path, template, kills):
    """P2, P4."""
    before = texts_of(open_store(template))
    copies = [str(tmp_path / f"{number}.git") for number in range(kills + 1)]
    for copy in copies:
        subprocess.run(["cp", "-r", template, copy], check=True)
    whole = kill_after(copies[-1], None)
    after = texts_of(open_store(copies[-1], FULL))
    assert before != after
    for number, copy in enumerate(copies[:-1]):
        kill_after(copy, whole * (number + 1) / (kills + 1))
        store = open_store(copy, FULL)
        assert texts_of(store) in (before, after)
        reproject(store, (), (reworded("b", "B"),))
        assert texts_of(open_store(copy, FULL)) == after
        assert {finding.severity for finding in verify(open_store(copy)).findings} <= {"warning"}  # files that are left
        assert git(store, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
