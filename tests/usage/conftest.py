"""Every message of these tests has an id of its own."""

from __future__ import annotations

import pytest

from scopes import clock
from tests.support.random_ids import hashed_counter


@pytest.fixture(autouse=True)
def _distinct_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
