"""Tokens of an answer, counted once however many lines repeat them."""

from __future__ import annotations

from typing import Any

from scopes.importers.exact_json import foreign

_NAMES = {
    "input_uncached": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}


def read_counts(raw: dict[str, Any]) -> dict[str, int]:
    """Read the known counts of a usage object; input does not include what was cached."""
    counts = {ours: raw.get(theirs) for ours, theirs in _NAMES.items()}
    return {name: count for name, count in counts.items() if type(count) is int and count >= 0}


def describe_usage(raw: dict[str, Any], before: dict[str, int]) -> dict[str, Any]:
    """Lay out a usage; `before` was counted with earlier messages of the same answer, and is not counted again."""
    counts = read_counts(raw)
    return {**{name: max(0, count - before.get(name, 0)) for name, count in counts.items()}, **foreign("raw", raw)}
