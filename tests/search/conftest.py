"""Fixtures: an empty store, and the directory of its index."""

from __future__ import annotations

import pytest

from tests.conversation.stores import make_store
from tests.support.dice import spread_dice

__all__ = ["spread_dice"]


@pytest.fixture
def repository(tmp_path, spread_dice):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache" / "scopes" / "index"
