"""Fixtures for tests that count tokens: a store, and exact and estimating tokenizers."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]

INSTALLED = tuple(filter(None, sys.path))
"""The directories of installed packages, one of which contains the rank files."""


def skip_without_rank_files():
    """Skip the test if the extra `tokens`, which has the rank files, is not installed; importing it takes a second."""
    if find_spec("bpe_openai") is None:
        pytest.skip("needs bpe_openai")


@pytest.fixture
def nowhere(tmp_path):
    """Return search paths without any rank file."""
    return RankFilePaths(str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def exact(tmp_path_factory):
    """Return the real o200k tokenizer, with the rank file from the extra `tokens`."""
    skip_without_rank_files()
    return choose_tokenizer(RankFilePaths(str(tmp_path_factory.mktemp("cache")), None, INSTALLED))


@pytest.fixture
def estimate(nowhere):
    """Return the tokenizer that is used without rank files."""
    return choose_tokenizer(nowhere)
