"""Fixtures: an empty store with ids that differ in their first characters, and golden files."""

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
    """Create an empty store; ids differ in their first characters, as real ones do."""
    rolls = itertools.count(1)
    monkeypatch.setattr(clock, "random_bytes", lambda size: sha256(str(next(rolls)).encode()).digest()[:size])
    return make_store(tmp_path / "store.git")


@pytest.fixture
def golden():
    """Return a function that compares a text with a golden file, or writes the file if UPDATE_GOLDEN is set."""

    def compare(name, text):
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text)
        assert text == path.read_text(), f"to accept it: UPDATE_GOLDEN=1 pytest {__file__}"

    return compare
