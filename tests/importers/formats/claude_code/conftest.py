"""The folder of real transcripts, which are not in this repository. Without them the tests that read them are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scopes.importers.formats.base import Source

# read before the environment of the tests is sealed
SHARED = Path(__file__).parents[4] / "shared" / "transcripts"
FOLDER = Path(os.environ.get("SCOPES_TEST_TRANSCRIPTS") or SHARED) / "claude-code"


@pytest.fixture
def real():
    """Return a function from the name of a file to the source of that real session."""
    if not FOLDER.is_dir():
        pytest.skip("the real transcripts are not here")

    def source(name):
        path = FOLDER / f"{name}.jsonl"
        return Source(str(path), path.stat().st_size)

    return source
