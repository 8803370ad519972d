"""Many processes on one store: start them together, wait for all, and read their messages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from scopes.conversation.verify import verify
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import resolve_revision
from scopes.ids import Oid
from scopes.store.repository import Repository, open_repository
from tests.support.fork_server import DEVNULL, PIPE, StartedProgram, run_program

COMMAND = "import sys; from scopes.cli.main import main; sys.exit(main())"
WRITER = """
import sys
from scopes.conversation.append import append
from scopes.history.messages import plain_message
from scopes.store.repository import open_repository
store, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
repository = open_repository(store)
for number in range(count):
    append(repository, "conv-001", plain_message(name, f"{name}/{number}"), branch="main")
"""
LIMIT_SECONDS = 300


def start(program: str, *arguments: str, environment: dict[str, str] | None = None) -> StartedProgram:
    """Start a Python program in a process of its own."""
    whole = {**os.environ, **(environment or {})}
    words = [*map(str, arguments)]
    return StartedProgram(program, words, whole, stdin=DEVNULL, stderr=PIPE, text=True, cwd=os.getcwd())


def start_scopes(store: str, *arguments: str) -> StartedProgram:
    """Start a command on a store."""
    return start(COMMAND, *arguments, environment={"SCOPES_STORE": store})


def finish(processes: Iterable[StartedProgram]) -> list[str]:
    """Wait for all, assert that each succeeded with empty standard error, and return their outputs."""
    results = [(process, *process.communicate(timeout=LIMIT_SECONDS)) for process in processes]
    failed = [(process.returncode, err[-500:]) for process, _, err in results if process.returncode != 0 or err]
    assert not failed, failed
    return [out for _, out, _ in results]


def scopes(store: str, *arguments: str) -> str:
    """Run one command and return its output."""
    done = run_program(COMMAND, [*map(str, arguments)], {**os.environ, "SCOPES_STORE": store}, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stderr[-500:])
    return done.stdout


def read_texts(repository: Repository, branch: str) -> list[str]:
    """Return the texts of a branch's messages, oldest first."""
    tip = resolve_revision(repository, branch).oid
    return [read_message(repository, Oid(head.oid)).text for head in walk_headers_oldest_first(repository, [tip])]


def assert_sound(store: str) -> None:
    """Assert that neither `verify` nor `git fsck` finds a defect."""
    findings = [finding for finding in verify(open_repository(store)).findings if finding.severity == "error"]
    assert not findings, findings
    command = ["git", f"--git-dir={store}", "fsck", "--strict", "--no-dangling"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
