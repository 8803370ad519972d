"""Ids that are reproducible and differ in their first characters, as random ids do."""

from __future__ import annotations

import itertools
from hashlib import sha256

import pytest

from scopes import clock


@pytest.fixture(autouse=True)
def spread_ids(sealed_world, monkeypatch):
    """Derive random bytes from the hash of a counter, so that an id prefix of a few characters is unique."""
    numbers = itertools.count(1)
    monkeypatch.setattr(clock, "random_bytes", lambda size: sha256(str(next(numbers)).encode()).digest()[:size])
