"""A store and an index directory for every test."""

from __future__ import annotations

import pytest

from tests.conversation.stores import make_store
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture
def repository(tmp_path, spread_ids):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache" / "scopes" / "index"
