"""The program answers as it did when the references were written (`python -m tests.references`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["imports", "commands", "merges"])
@pytest.mark.every_case("each is another reference")
def test_a_reference_is_as_it_was_written(name):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    words = [sys.executable, "-m", "tests.references", "check", name]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if "skipped" in done.stdout:
        pytest.skip("the samples are not here")
    assert done.stdout == f"{name}: the same\n"


def test_an_unknown_reference_is_a_usage_error():
    words = [sys.executable, "-m", "tests.references", "check", "nothing"]
    assert subprocess.run(words, cwd=ROOT, capture_output=True, check=False).returncode == 2
