"""Answers of models with recorded tokens, for the tests of `usage`."""

from __future__ import annotations

from scopes.usage.prices import read_prices
from scopes.usage.usage import UsageRequest, usage
from tests.support.history import say

OPUS = "claude-opus-4-5-20251101"
AGENT = {"name": "claude-code", "kind": "agent"}
COUNTS = {"input_uncached": 1000, "cache_read": 0, "cache_write": 0, "output": 100}


def answer(repository, where, text, *, time="2026-01-05T10:00:00.123Z", model=OPUS, author=AGENT, **usage_fields):
    """Append an answer with 1000 tokens of input and 100 of output, or other ones."""
    recorded = {**COUNTS, **usage_fields}
    return say(repository, where, text, author=author, kind="answer", time=time, model=model, usage=recorded)


def count(repository, *by, prices=None, **options):
    """Return what was used, by day if nothing else is named."""
    request = UsageRequest(by=by or ("day",), **options)
    return usage(repository, request, prices or read_prices())


def by_key(result, field):
    """Return the number of answers and of tokens by a field of the rows."""
    return {getattr(row, field): (row.answers, row.tokens) for row in result.rows}
