"""The suite itself: a stuck test is noticed, and a worker reports every end of a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from scopes import clock
from tests.support.store import ROOT, Process

STUCK = """
import re
from types import SimpleNamespace
from tests import conftest
conftest.STUCK_SECONDS = 0.1
stash = {conftest.fault_handler_stderr_fd_key: 2}
for test in range(3):
    conftest.watch(SimpleNamespace(config=SimpleNamespace(stash=stash)))
re.match(r"(a|aa)+$", "a" * 100 + "b")  # holds the interpreter for ages
"""
ENDS = """
import pytest

@pytest.fixture
def broken():
    raise OSError("broken before")

@pytest.fixture
def left():
    yield
    raise OSError("broken after")

def test_that_passes(): pass
def test_that_fails(): assert [] == [1]
def test_with_an_error_before(broken): pass
def test_with_an_error_after(left): pass
def test_with_both(left): assert 1 == 2
@pytest.mark.skip
def test_that_is_skipped(): pass
def test_that_skips_itself(): pytest.skip("itself")
@pytest.mark.xfail
def test_with_a_known_failure(): assert 1 == 2
"""


def test_a_delay_can_be_drawn_after_any_number_of_ids():
    """A test whose writer had to wait after 255 ids failed, which happened on a busy machine alone."""
    for _ in range(300):
        clock.new_id()
        assert 0 <= clock.jitter() < 1


def test_the_stacks_of_a_stuck_test_are_printed_even_if_no_python_code_can_run():
    process = Process(STUCK, "no store")
    try:
        assert process.popen.stderr.readline().startswith("Timeout")
        assert process.popen.stderr.readline().startswith("Thread")
    finally:
        process.kill()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.slow
def test_a_worker_reports_every_end_of_a_test_but_that_nothing_went_wrong(tmp_path, workers):
    (tmp_path / "test_ends.py").write_text(ENDS)
    words = ["--rootdir", tmp_path, "-c", os.devnull, "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", *workers]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "2 failed, 2 passed, 2 skipped, 1 xfailed, 3 errors" in done.stdout
    for text in ("assert [] == [1]", "OSError: broken before", "OSError: broken after", "assert 1 == 2"):
        assert re.search(rf"^E +{re.escape(text)}$", done.stdout, re.MULTILINE)
    assert done.returncode == 1
