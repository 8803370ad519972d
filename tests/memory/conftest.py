"""A conversation to remember, in a store of its own."""

from __future__ import annotations

import itertools
from hashlib import sha256

import pytest

from scopes import clock
from scopes.conversation.new import new
from tests.conversation.stores import make_store


@pytest.fixture(autouse=True)
def spread_dice(sealed_world, monkeypatch):
    """Hash the count of the sealed dice, so that a prefix of a few letters is unique."""
    rolls = itertools.count(1)
    monkeypatch.setattr(clock, "roll", lambda size: sha256(str(next(rolls)).encode()).digest()[:size])


@pytest.fixture
def repository(tmp_path, spread_dice):
    """Make a store with the empty conversation conv-001."""
    made = make_store(tmp_path / "store.git")
    new(made)
    return made
