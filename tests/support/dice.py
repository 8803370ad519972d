"""Dice whose ids differ from the first letter on, as real ones do."""

from __future__ import annotations

import itertools
from hashlib import sha256

import pytest

from scopes import clock


@pytest.fixture(autouse=True)
def spread_dice(sealed_world, monkeypatch):
    """Hash the count of the sealed dice, so that a prefix of a few letters is unique."""
    rolls = itertools.count(1)
    monkeypatch.setattr(clock, "roll", lambda size: sha256(str(next(rolls)).encode()).digest()[:size])
