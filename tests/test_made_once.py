"""What takes seconds to make is made by one worker of a run; the others read it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.store import ROOT

USES = """
import os, pathlib, pytest
from tests.support.made_once import made_once

def make(directory):
    (directory / "file").write_text("made")
    with open(os.environ["LOG"], "a") as log:
        log.write("made\\n")
    return {"directory": str(directory)}

@pytest.mark.parametrize("number", range(40))
def test_use(request, tmp_path_factory, number):
    for _ in range(2):
        made = made_once(request, tmp_path_factory, "things", make)
        assert (pathlib.Path(made["directory"]) / "file").read_text() == "made"
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.slow
def test_it_is_made_once_whatever_the_number_of_workers(tmp_path, workers):
    (tmp_path / "test_uses.py").write_text(USES)
    words = ["--rootdir", tmp_path, "-c", os.devnull, "-p", "no:cacheprovider", "-q", *workers, tmp_path]
    environment = {**os.environ, "LOG": str(tmp_path / "log"), "PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert "40 passed" in done.stdout, done.stdout
    assert (tmp_path / "log").read_text() == "made\n"
