"""What the tests of this layer share: a store, and the ways to count."""

from __future__ import annotations

import sys

import pytest

from scopes.tokens.choose import choose_tokenizer
from scopes.tokens.rank_files import RankFilePaths
from tests.conversation.stores import make_store
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

INSTALLED = tuple(filter(None, sys.path))


@pytest.fixture
def repository(tmp_path, spread_ids):
    """A store of its own."""
    return make_store(tmp_path / "store.git")


@pytest.fixture
def nowhere(tmp_path):
    """Places without any rank file."""
    return RankFilePaths(str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def exact(tmp_path_factory):
    """The real o200k, from the carrier that the extra `tokens` installs."""
    pytest.importorskip("bpe_openai")
    return choose_tokenizer(RankFilePaths(str(tmp_path_factory.mktemp("cache")), None, INSTALLED))


@pytest.fixture
def estimate(nowhere):
    """The way to count where there is no data."""
    return choose_tokenizer(nowhere)
