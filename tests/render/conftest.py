"""Fixtures for the renderings: the moment of the samples, and ids that differ in their first characters."""

from __future__ import annotations

import pytest

from scopes import clock
from tests.render.results import NOW_SECONDS
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture
def at_one_moment(monkeypatch):
    """Stop the clock at the moment of the samples."""
    monkeypatch.setattr(clock, "read_clock", lambda: NOW_SECONDS * 1_000_000_000)
