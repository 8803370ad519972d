"""Fixture: a store with one conversation."""

from __future__ import annotations

import pytest

from scopes.conversation.new import new
from tests.conversation.stores import make_store
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture
def repository(tmp_path, spread_ids):
    """Make a store with the empty conversation conv-001."""
    made = make_store(tmp_path / "store.git")
    new(made)
    return made
