"""A store for every test, and a directory that its index is kept in."""

from __future__ import annotations

import itertools
from hashlib import sha256

import pytest

from scopes import clock
from tests.conversation.stores import make_store


@pytest.fixture(autouse=True)
def spread_dice(sealed_world, monkeypatch):
    """Hash the count of the sealed dice, so that ids differ from the first letter on."""
    rolls = itertools.count(1)
    monkeypatch.setattr(clock, "roll", lambda size: sha256(str(next(rolls)).encode()).digest()[:size])


@pytest.fixture
def repository(tmp_path, spread_dice):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache" / "scopes" / "index"
