"""Fixtures of the command line tests: a store with names, completion rows of the sample table, a conversation."""

from __future__ import annotations

import os

import pytest

from scopes import clock
from scopes.cli import option_rows
from scopes.cli.generate import generate
from tests.cli.conversation import Conversation
from tests.cli.sample import TABLE
from tests.support.random_ids import hashed_counter

SETTINGS = {"scopes.author": "the name to append under", "scopes.hints": "whether to hint"}


@pytest.fixture
def store(tmp_path):
    """Create the files of a store that completion reads: refs."""
    path = tmp_path / "store.git"
    for branch in ("conv-001/main", "conv-001/analysis/security", "conv-002/main", "login-bug/main"):
        file = path / "refs" / "heads" / branch
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("0" * 40)
    return str(path)


@pytest.fixture
def sample_options(tmp_path, monkeypatch):
    """Make completion read the rows of the sample table."""
    files = generate(TABLE, SETTINGS)
    path = tmp_path / os.path.basename(option_rows.OPTIONS_FILE)
    path.write_text(files["scopes/cli/" + path.name])
    monkeypatch.setattr(option_rows, "OPTIONS_FILE", str(path))
    return str(path)


@pytest.fixture
def conversation(tmp_path, monkeypatch):
    """A conversation with the branches main and fix; ids differ in their first letter."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    made = Conversation(tmp_path)
    made.first = made.fork()
    return made
