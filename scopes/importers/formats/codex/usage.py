"""Count the tokens of a thread once. Codex reports running totals, some of them repeatedly.

A total that grows belongs to a new answer; an equal one is a repetition; one that shrinks, or equals one answer, starts
a new count. Since 2026 each answer also has its own record, which the next total repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.importers.formats.lossless_json import lossless_field

_TOTAL = "total_token_usage"
_LAST = "last_token_usage"
_THREAD = "thread_token_usage"
_FIELDS = {
    "input": "input_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_output_tokens",
}
Counts = dict[str, int]


class UsageCounter:
    """The token counts of a thread so far."""

    def __init__(self) -> None:
        self._total: Counts | None = None

    def read_total(self, info: object) -> dict[str, Any] | None:
        """Return the usage since the previous total; None if there is none."""
        if not isinstance(info, dict):
            return None
        total, last = _counts(info.get(_TOTAL)), _counts(info.get(_LAST))
        if total is None or total == self._total:
            return None
        before, self._total = self._total, total
        if before is not None and total != last and all(total[name] >= before.get(name, 0) for name in total):
            used = {name: count - before.get(name, 0) for name, count in total.items()}
        else:
            used = last or total
        return _build_usage(used, {name: info[name] for name in (_LAST, _TOTAL) if name in info})

    def read_record(self, payload: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the usage in an answer's own record; None if it cannot be read."""
        used = _counts(payload.get("usage"))
        if used is None:
            return None
        before = self._total or {}
        sums = {name: count + before.get(name, 0) for name, count in used.items()}
        self._total = _counts(payload.get(_THREAD)) or sums
        return _build_usage(used, payload["usage"])


def is_total(info: object) -> bool:
    """Return True if a usage event has a readable total."""
    return isinstance(info, dict) and _counts(info.get(_TOTAL)) is not None


def read_thread_usage(usage: object) -> dict[str, int] | None:
    """Return the token counts of a thread so far, as the stream of a turn ends with them; None if it has none."""
    counts = _counts(usage)
    return None if counts is None else {name: n for name, n in _build_usage(counts, None).items() if name != "raw"}


def sum_usage(first: Mapping[str, Any] | None, second: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the sum of two usages of one message, with the source's objects of both."""
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
    """Return the known counts under our names; None if there are none."""
    if not isinstance(usage, dict):
        return None
    found = {ours: usage.get(theirs) for ours, theirs in _FIELDS.items()}
    return {name: count for name, count in found.items() if type(count) is int and count >= 0} or None


def _build_usage(used: Counts, raw: object) -> dict[str, Any]:
    """Return a usage with its raw object; Codex's input count includes cache reads and writes."""
    counts = {name: count for name, count in used.items() if name != "input"}
    if "input" in used:
        cached = used.get("cache_read", 0) + used.get("cache_write", 0)
        counts = {"input_uncached": max(0, used["input"] - cached), **counts}
    return {**counts, **lossless_field("raw", raw)}
