"""Fixtures for tests that count tokens: a store, and exact and estimating tokenizers."""

from __future__ import annotations

import sys

import pytest

from scopes.tokens.choose import choose_tokenizer
from scopes.tokens.rank_files import RankFilePaths
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

INSTALLED = tuple(filter(None, sys.path))
"""The directories of installed packages, one of which contains the rank files."""


@pytest.fixture
def nowhere(tmp_path):
    """Return search paths without any rank file."""
    return RankFilePaths(str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def exact(tmp_path_factory):
    """Return the real o200k tokenizer, with the rank file from the extra `tokens`."""
    pytest.importorskip("bpe_openai")
    return choose_tokenizer(RankFilePaths(str(tmp_path_factory.mktemp("cache")), None, INSTALLED))


@pytest.fixture
def estimate(nowhere):
    """Return the tokenizer that is used without rank files."""
    return choose_tokenizer(nowhere)
