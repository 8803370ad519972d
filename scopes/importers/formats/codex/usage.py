"""Tokens of a thread, counted once: Codex reports running totals, and reports them again whenever it likes.

A total that grows is a new answer's; one that has not changed says nothing; one that has shrunk, or that is all of one
answer's, begins anew. Since 2026 each answer has a record of its own, and the total that follows repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.importers.formats.lossless_json import lossless_field

_TOTAL = "total_token_usage"
_LAST = "last_token_usage"
_THREAD = "thread_token_usage"
_NAMES = {
    "input": "input_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_output_tokens",
}
Counts = dict[str, int]


class UsageCounter:
    """What a thread has used so far, as its records tell."""

    def __init__(self) -> None:
        self._seen: Counts | None = None

    def read_total(self, info: object) -> dict[str, Any] | None:
        """Return what has been used since the last total; None where that is nothing."""
        if not isinstance(info, dict):
            return None
        total, last = _counts(info.get(_TOTAL)), _counts(info.get(_LAST))
        if total is None or total == self._seen:
            return None
        before, self._seen = self._seen, total
        if before is not None and total != last and all(total[name] >= before.get(name, 0) for name in total):
            used = {name: count - before.get(name, 0) for name, count in total.items()}
        else:
            used = last or total
        return _describe(used, {name: info[name] for name in (_LAST, _TOTAL) if name in info})

    def read_record(self, payload: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what one answer used, as its own record says."""
        used = _counts(payload.get("usage"))
        if used is None:
            return None
        before = self._seen or {}
        sums = {name: count + before.get(name, 0) for name, count in used.items()}
        self._seen = _counts(payload.get(_THREAD)) or sums
        return _describe(used, payload["usage"])


def is_total(info: object) -> bool:
    """Tell whether what is told of a thread's usage holds a total that can be read."""
    return isinstance(info, dict) and _counts(info.get(_TOTAL)) is not None


def add_usage(first: Mapping[str, Any] | None, second: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add what two answers used that became one message; both of the source's objects are kept."""
    if first is None:
        return second
    raws = [raw for usage in (first, second) for raw in _raws(usage)]
    names = [name for name in (*first, *second) if not name.startswith("raw")]
    sums = {name: first.get(name, 0) + second.get(name, 0) for name in dict.fromkeys(names)}
    return {**sums, **lossless_field("raw", raws)}


def _raws(usage: Mapping[str, Any]) -> list[Any]:
    raw = usage.get("raw", usage.get("raw_text"))
    return raw if isinstance(raw, list) else [raw]


def _counts(usage: object) -> Counts | None:
    """Read the known counts under our names; None where there are none."""
    if not isinstance(usage, dict):
        return None
    found = {ours: usage.get(theirs) for ours, theirs in _NAMES.items()}
    return {name: count for name, count in found.items() if type(count) is int and count >= 0} or None


def _describe(used: Counts, raw: object) -> dict[str, Any]:
    """Lay out a usage; the input that Codex counts includes what was read from the cache or written to it."""
    counts = {name: count for name, count in used.items() if name != "input"}
    if "input" in used:
        cached = used.get("cache_read", 0) + used.get("cache_write", 0)
        counts = {"input_uncached": max(0, used["input"] - cached), **counts}
    return {**counts, **lossless_field("raw", raw)}
