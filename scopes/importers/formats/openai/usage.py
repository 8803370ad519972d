"""Normalise the token counts of the OpenAI chat completions API, whose input includes cached tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.importers.formats.fields import object_field
from scopes.importers.formats.lossless_json import lossless_field


def read_usage(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of an answer with the source's own object; None if there are none."""
    given = _count(usage, "prompt_tokens")
    cached = min(given, _count(object_field(usage, "prompt_tokens_details"), "cached_tokens"))
    reasoning = _count(object_field(usage, "completion_tokens_details"), "reasoning_tokens")
    counts = {"input_uncached": given - cached, "cache_read": cached, "output": _count(usage, "completion_tokens")}
    if not any(counts.values()):
        return None
    return {**counts, **({"reasoning": reasoning} if reasoning else {}), **lossless_field("raw", dict(usage))}


def _count(counts: Mapping[str, Any], name: str) -> int:
    count = counts.get(name)
    return count if type(count) is int and count >= 0 else 0
