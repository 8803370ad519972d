"""Messages and operations have different ids, as everywhere else."""

from __future__ import annotations

import pytest

from scopes import clock
from tests.support.random_ids import hashed_counter


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
