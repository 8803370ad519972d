"""Fixtures: an empty store, and the directory of its index."""

from __future__ import annotations

import pytest

from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache" / "scopes" / "index"
