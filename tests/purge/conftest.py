"""Stores with a planted word, for the tests of purge."""

from __future__ import annotations

import pytest

from scopes.purge.purge import Places
from tests.support.git_settings import remembered_settings  # noqa: F401 - git is asked once
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.remotes import make_bare


@pytest.fixture
def places(tmp_path):
    """The index and the other caches of a store, and the directory of logs."""
    return Places(str(tmp_path / "index"), (str(tmp_path / "contexts"),), str(tmp_path / "state"))


@pytest.fixture
def bare(tmp_path):
    """A bare repository, the remote of the stores of a test."""
    return make_bare(tmp_path / "bare.git")
