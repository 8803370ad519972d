"""Fixtures for tests of contexts: the store and the tokenizers of `tests/tokens`."""

from tests.tokens.conftest import estimate, exact, nowhere, spread_ids

__all__ = ["estimate", "exact", "nowhere", "spread_ids"]
