"""Fixtures of the command line tests: a store with names, completion rows of the sample table, a conversation."""

from __future__ import annotations

import itertools
import os
from hashlib import sha256

import pytest

from scopes import clock
from scopes.cli import option_rows
from scopes.cli.generate import generate
from tests.cli.contract import copy_world, make_world
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


@pytest.fixture(scope="session")
def made_worlds():
    """The world that the first test made."""
    return []


@pytest.fixture
def world(made_worlds, tmp_path, tmp_path_factory, monkeypatch):
    """A copy of the store with something for every command that scripts read; ids of now differ from those in it."""
    if not made_worlds:
        monkeypatch.setattr(clock, "random_bytes", hashed_counter())
        made_worlds.append(make_world(tmp_path_factory.mktemp("world")))
    later = (sha256(f"later {number}".encode()).digest() for number in itertools.count())
    monkeypatch.setattr(clock, "random_bytes", lambda size: next(later)[:size])
    return copy_world(made_worlds[0], tmp_path)
