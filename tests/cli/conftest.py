"""Fixtures of the command line tests: a store with names, a conversation."""

from __future__ import annotations

import copy
import itertools
import os
from hashlib import sha256

import pytest

from scopes import clock
from tests.cli.contract import copy_world, make_world
from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, scopes
from tests.support.random_ids import hashed_counter
from tests.support.recalled import recalled
from tests.support.remotes import make_bare
from tests.support.snapshot import take_snapshot

_CONVERSATIONS = []


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
def conversation(tmp_path, monkeypatch):
    """A conversation with the branches main and fix; ids differ in their first letter.

    The first one of a process is copied, and its readings of the clock and its ids are taken again.
    """
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    if not _CONVERSATIONS:
        _CONVERSATIONS.append(_make_conversation(tmp_path))
    made, store, readings = _CONVERSATIONS[0]
    if not os.path.exists(tmp_path / "store.git"):
        store.write(str(tmp_path / "store.git"))
        for name, arguments, value in readings:
            assert getattr(clock, name)(*arguments) == value
    copied = copy.copy(made)
    copied.store = str(tmp_path / "store.git")
    return copied


def _make_conversation(path):
    """Return a conversation, its store, and what was read from clock and ids meanwhile."""
    readings = []

    def recorded(name, function):
        def call(*arguments):
            readings.append((name, arguments, function(*arguments)))
            return readings[-1][-1]

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_clock", "random_bytes"):
            patch.setattr(clock, name, recorded(name, getattr(clock, name)))
        made = Conversation(path)
        made.first = made.fork()
    return made, take_snapshot(made.store), readings


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


@pytest.fixture
def run(tmp_path):
    """Return a function that runs scopes on a store, `a` if no other one is named."""

    def run(*words, store="a", code=0):
        done = scopes("--store", str(tmp_path / store), *words, table=PRODUCT, cwd=str(tmp_path))
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def bare(tmp_path):
    """A bare repository."""
    return make_bare(tmp_path / "talks.git")


@pytest.fixture
@recalled
def shared(run, bare):
    """A conversation of the store `a` that was pushed."""
    run("new", "Login")
    run("append", "conv-001", "--as", "carol", "hello")
    run("remote", "add", "origin", bare)
    run("push", "conv-001")
    return bare


@pytest.fixture
@recalled
def cloned(run, shared):
    """The same conversation, which the store `b` has from there."""
    run("clone", shared, "b")
    return shared
