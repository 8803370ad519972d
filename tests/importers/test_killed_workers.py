"""A worker that is killed, as when memory is short, ends an import within seconds: also one that others wait for."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.fork_server import PIPE, StartedProgram
from tests.support.store import FAST, ROOT, make_store, open_store

SESSIONS = 24
SECONDS = 60  # an import of these sessions takes one or two
IMPORT = """
import os, sys
from scopes.importers import import_sources
from scopes.importers.formats.base import Source
from scopes.store.config import Setting
from tests.importers.demo_format import DemoFormat
from tests.support.store import FAST, open_store
import_sources.BYTES_PER_WORKER = import_sources.BYTES_PER_TASK = 1
folder, store, index = sys.argv[1:]
repository = open_store(store, {**FAST, "scopes.importworkers": Setting("scopes.importWorkers", "3", "flag")})
sources = [Source(entry.path, entry.stat().st_size) for entry in sorted(os.scandir(folder), key=lambda e: e.path)]
print("begin", flush=True)
import_sources.import_sources(repository, sources, (DemoFormat(),), index_directory=index)
print("end", flush=True)
"""


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "sources").mkdir()
    return [
        write_transcript(
            tmp_path / "sources" / f"s{n:02}.jsonl",
            *session_records(f"s{n:02}", " ".join(f"w{n}x{m}" for m in range(60))),
        )
        for n in range(SESSIONS)
    ]


def start(tmp_path, store):
    """Start an import by three workers."""
    words = [tmp_path / "sources", store.path, tmp_path / "index"]
    return StartedProgram(IMPORT, words, {**os.environ, "PYTHONPATH": ROOT}, stderr=PIPE, text=True, cwd=ROOT)


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def end(process, children):
    """Wait for an import and its processes; return True if it has succeeded, and what it wrote to standard error."""
    try:
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()  # its processes end with it
    deadline = time.monotonic() + SECONDS
    while any(os.path.exists(f"/proc/{child}") for child in children) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(os.path.exists(f"/proc/{child}") for child in children)
    return output.endswith("end\n"), errors


def check_store(path, sources, *, done):
    """Check that the store has all sessions or nothing, and that the next import completes it."""
    store = open_store(path, FAST)
    assert len(store.list_refs("refs/heads/")) == (SESSIONS if done else 0)
    import_demo(store, *sources)
    assert len(open_store(path).list_refs("refs/heads/")) == SESSIONS


def whole_seconds(tmp_path):
    """Return how long an import takes."""
    with start(tmp_path, make_store(tmp_path / "whole.git", FAST)) as process:
        assert process.stdout.readline() == "begin\n"
        began = time.monotonic()
        assert process.stdout.readline() == "end\n"
        return time.monotonic() - began


@pytest.mark.parametrize("kills", [2, pytest.param(60, marks=[pytest.mark.sweep, pytest.mark.timeout(1800)])])
def test_a_process_of_an_import_killed_at_any_moment_ends_it_with_all_or_nothing_stored(tmp_path, sources, kills):
    """Each of its processes in turn."""
    whole, killed = whole_seconds(tmp_path), 0
    for number in range(kills):
        store = make_store(tmp_path / f"{number}.git", FAST)
        process = start(tmp_path, store)
        assert process.stdout.readline() == "begin\n"
        time.sleep(whole * (number + 1) / (kills + 1))
        children = children_of(process.pid)
        if children:
            os.kill(children[number % len(children)], signal.SIGKILL)
            killed += 1
        done, errors = end(process, children)
        assert done or "was killed" in errors
        check_store(store.path, sources, done=done)
    assert killed
