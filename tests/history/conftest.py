"""An empty store for every test, and dice whose ids differ from the first letter on, as real ones do."""

from __future__ import annotations

import pytest

from tests.conversation.stores import make_store
from tests.support.dice import spread_dice

__all__ = ["spread_dice"]


@pytest.fixture
def repository(tmp_path, spread_dice):
    """Make an empty store in the test's own directory."""
    return make_store(tmp_path / "store.git")
