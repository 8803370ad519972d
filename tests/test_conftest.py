"""The suite itself: a stuck test is noticed, and ordinary runs leave sweeps out without making their items."""

from __future__ import annotations

import subprocess
import sys

from tests.support.store import ROOT, Process

STUCK = """
import re
from types import SimpleNamespace
from tests import conftest
conftest.STUCK_SECONDS = 0.1
stash = {conftest.fault_handler_stderr_fd_key: 2}
for test in range(3):
    conftest.pytest_runtest_protocol(SimpleNamespace(config=SimpleNamespace(stash=stash)))
re.match(r"(a|aa)+$", "a" * 100 + "b")  # holds the interpreter for ages
"""


def collected(*words):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_the_stacks_of_a_stuck_test_are_printed_even_if_no_python_code_can_run():
    process = Process(STUCK, "no store")
    try:
        assert process.popen.stderr.readline().startswith("Timeout")
        assert process.popen.stderr.readline().startswith("Thread")
    finally:
        process.kill()


def test_items_of_sweeps_are_made_only_on_request():
    file = "tests/faults/test_sweep.py"
    ordinary, sweeps, every = (collected(file, "-m", which) for which in ("not sweep", "sweep", ""))
    assert not any("deselected" in line for line in ordinary)
    counts = [int(lines[0].rpartition(" ")[2]) for lines in (ordinary, sweeps, every)]
    assert counts[0] + counts[1] == counts[2]
    assert min(counts) > 0
