"""Token counts of chat completions: the input is without the cached tokens, and the source's object is kept."""

from __future__ import annotations

import pytest

from scopes.importers.formats.openai.usage import read_usage


def counts(usage):
    found = read_usage(usage)
    return None if found is None else {name: value for name, value in found.items() if name != "raw"}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, {"input_uncached": 10, "cache_read": 0, "output": 2}),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, {"input_uncached": 6, "cache_read": 4, "output": 0}),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, {"input_uncached": 0, "cache_read": 3, "output": 0}),
        ({"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 4}}, {"input_uncached": 0, "cache_read": 0, "output": 5, "reasoning": 4}),
        ({}, None), ({"prompt_tokens": -1, "completion_tokens": True}, None), ({"prompt_tokens": "7"}, None), ({"prompt_tokens": 1.5}, None),
    ],
)  # fmt: skip
def test_counts_are_normalised(usage, expected):
    assert counts(usage) == expected


def test_the_source_is_kept_exactly():
    usage = {"prompt_tokens": 10, "cost": 0.5}
    assert read_usage(usage)["raw"] == usage
