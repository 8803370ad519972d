"""What the tests of completion share: a store with names in it, and an options file of the sample table."""

from __future__ import annotations

import os

import pytest

from scopes import clock
from scopes.cli import completion
from scopes.cli.generate import generate
from tests.cli.sample import TABLE
from tests.cli.talking import Talk
from tests.support.random_ids import hashed_counter

SETTINGS = {"scopes.author": "the name to append under", "scopes.hints": "whether to hint"}


@pytest.fixture
def store(tmp_path):
    """Make what completion looks at of a store: ref files."""
    path = tmp_path / "store.git"
    for branch in ("conv-001/main", "conv-001/analysis/security", "conv-002/main", "login-bug/main"):
        file = path / "refs" / "heads" / branch
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("0" * 40)
    return str(path)


@pytest.fixture
def sample_options(tmp_path, monkeypatch):
    """Let completion read the options of the sample table instead of the product's."""
    files = generate(TABLE, SETTINGS)
    path = tmp_path / os.path.basename(completion.OPTIONS_FILE)
    path.write_text(files["scopes/cli/" + path.name])
    monkeypatch.setattr(completion, "OPTIONS_FILE", str(path))
    return str(path)


@pytest.fixture
def talk(tmp_path, monkeypatch):
    """Begin a conversation with the branches main and fix, whose ids differ from the first letter on."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    made = Talk(tmp_path)
    made.first = made.part()
    return made
