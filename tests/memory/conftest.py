"""A conversation to remember, in a store of its own."""

from __future__ import annotations

import pytest

from scopes.conversation.new import new
from tests.conversation.stores import make_store
from tests.support.dice import spread_dice

__all__ = ["spread_dice"]


@pytest.fixture
def repository(tmp_path, spread_dice):
    """Make a store with the empty conversation conv-001."""
    made = make_store(tmp_path / "store.git")
    new(made)
    return made
