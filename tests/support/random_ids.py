"""Reproducible ids that differ in their first characters, as random ids do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from hashlib import sha256

import pytest

from scopes import clock


def hashed_counter() -> Callable[[int], bytes]:
    """Return a replacement for `clock.random_bytes` that hashes a counter."""
    numbers = itertools.count(1)
    return lambda size: sha256(str(next(numbers)).encode()).digest()[:size]


@pytest.fixture(autouse=True)
def spread_ids(sealed_world, monkeypatch):
    """Make an id prefix of a few characters unique."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
