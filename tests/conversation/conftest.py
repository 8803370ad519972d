"""An empty store for every test, and dice whose ids differ from the first letter on, as real ones do."""

from __future__ import annotations

import itertools
from hashlib import sha256

import pytest

from scopes import clock
from tests.conversation.stores import make_store


@pytest.fixture(autouse=True)
def spread_dice(sealed_world, monkeypatch):
    """Hash the count of the sealed dice, so that a prefix of a few letters is unique."""
    rolls = itertools.count(1)
    monkeypatch.setattr(clock, "roll", lambda size: sha256(str(next(rolls)).encode()).digest()[:size])


@pytest.fixture
def repository(tmp_path, spread_dice):
    """Make an empty store in the test's own directory."""
    return make_store(tmp_path / "store.git")
