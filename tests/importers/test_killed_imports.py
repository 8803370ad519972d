"""An import of many sessions by several processes that is killed at any moment: all or nothing, and the next one works."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from scopes.conversation.verify import verify
from tests.importers.reading import source_of
from tests.importers.stores import import_demo
from tests.importers.test_workers import refs_of
from tests.support.fork_server import DEVNULL, StartedProgram
from tests.support.store import FULL, ROOT, git, make_store, open_store

SESSIONS = 110  # as many refs as are packed, and symbolic ones that are created together
MESSAGES = 4
IMPORT = """
import os, sys
from scopes.conversation.list import list_conversations
from scopes.importers import import_sources
from scopes.importers.formats.base import Source
from scopes.store.config import Setting
from tests.importers.demo_format import DemoFormat
from tests.support.fork_server import DEVNULL, StartedProgram
from tests.support.store import FULL, open_store
import_sources.BYTES_PER_WORKER = import_sources.BYTES_PER_TASK = 1
folder, store, index = sys.argv[1:]
repository = open_store(store, {**FULL, "scopes.importworkers": Setting("scopes.importWorkers", "2", "flag")})
paths = sorted(entry.path for entry in os.scandir(folder))
sources = [Source(path, os.path.getsize(path)) for path in paths]
print("begin", flush=True)
import_sources.import_sources(repository, sources, (DemoFormat(),), index_directory=index)
print("end", flush=True)
"""


@pytest.fixture
def folder(tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(SESSIONS):
        records = [{"session": f"s{number:03}", "created": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"}]
        for place in range(MESSAGES):
            by, parent = ("user", "bot")[place % 2], f"m{place - 1}" if place else None
            records.append({"id": f"m{place}", "parent": parent, "by": by, "say": f"w{number}x{place}"})
        path = sources / f"s{number:03}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(sources)


def start(folder, store, index):
    environment = {**os.environ, "PYTHONPATH": ROOT}
    return StartedProgram(
        IMPORT, [folder, store, index], environment, stderr=DEVNULL, text=True, new_session=True, cwd=ROOT
    )


def duration(folder, tmp_path):
    """Return the seconds of an import, and the refs that it makes."""
    store = make_store(tmp_path / "whole.git", FULL)
    with start(folder, store.path, str(tmp_path / "index")) as process:
        assert process.stdout.readline() == "begin\n"
        begin = time.monotonic()
        assert process.stdout.readline() == "end\n"
    return time.monotonic() - begin, refs_of(open_store(store))


def kill_after(folder, store, index, seconds):
    """Kill all processes of an import some time after it has begun; return True if it had not ended."""
    with start(folder, store.path, index) as process:
        assert process.stdout.readline() == "begin\n"
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        return process.stdout.read() == ""


@pytest.mark.parametrize("kills", [1, pytest.param(24, marks=[pytest.mark.sweep, pytest.mark.timeout(1800)])])
def test_an_import_by_several_processes_that_is_killed_has_stored_all_or_nothing(tmp_path, folder, kills):
    """P2, P4."""
    whole, expected = duration(folder, tmp_path)
    outcomes = []
    for number in range(kills):
        store, index = make_store(tmp_path / f"{number}.git", FULL), str(tmp_path / f"index{number}")
        running = kill_after(folder, store, index, whole * (number + 1) / (kills + 1))
        store = open_store(store, FULL)
        found = refs_of(store)
        assert found in ({}, expected)
        outcomes.append((running, bool(found)))
        paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        import_demo(store, *[source_of(path) for path in paths])
        assert refs_of(open_store(store)) == expected
        assert {finding.severity for finding in verify(open_store(store)).findings} <= {
            "warning"
        }  # files that are left
        assert git(store, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
    print(
        f"{kills} kills: {sum(running for running, _ in outcomes)} while it ran,",
        f"{sum(done for _, done in outcomes)} after the commit",
    )
