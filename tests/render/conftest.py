"""Fixtures for rendering tests: a fixed time, an empty store, and golden files."""

from __future__ import annotations

import itertools
import os
from hashlib import sha256
from pathlib import Path

import pytest

from scopes import clock
from tests.conversation.stores import make_store
from tests.render.results import NOW_SECONDS

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def at_one_moment(monkeypatch):
    """Stop the clock at the moment of the samples."""
    monkeypatch.setattr(clock, "read_clock", lambda: NOW_SECONDS * 1_000_000_000)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Make an empty store; its ids differ from the first letter on, as real ones do."""
    rolls = itertools.count(1)
    monkeypatch.setattr(clock, "random_bytes", lambda size: sha256(str(next(rolls)).encode()).digest()[:size])
    return make_store(tmp_path / "store.git")


@pytest.fixture
def golden():
    """Return a function that compares a text with the file of that name, or writes it where UPDATE_GOLDEN is set."""

    def compare(name, text):
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text)
        assert text == path.read_text(), f"to accept it: UPDATE_GOLDEN=1 pytest {__file__}"

    return compare
