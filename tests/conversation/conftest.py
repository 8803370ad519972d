"""Fixtures: an empty store for every test, and ids that differ in their first characters."""

from __future__ import annotations

import pytest

from tests.conversation.stores import make_store
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture
def repository(tmp_path, spread_ids):
    """Create an empty store in the directory of the test."""
    return make_store(tmp_path / "store.git")
