"""An empty store for every test with ids that differ in their first characters, and files that hold what is expected."""

from __future__ import annotations

import itertools
import os
from hashlib import sha256
from pathlib import Path

import pytest

from scopes import clock
from tests.conversation.stores import make_store

GOLDEN = Path(__file__).parent / "golden"


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
