"""Divide the running totals of OpenHands among the answers: what was added since the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field

_COUNTS = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")


class RunningUsage:
    """The totals of all models of a conversation; `model` is that of the agent."""

    def __init__(self) -> None:
        self.model: str | None = None
        self._totals: dict[str, dict[str, int]] = {}
        self._new = dict.fromkeys(_COUNTS, 0)

    def update(self, state: Mapping[str, Any]) -> None:
        """Take the totals of a `stats` event, or those in the state of a conversation."""
        stats = object_field(state, "stats") or state
        for name, metrics in object_field(stats, "usage_to_metrics").items():
            if isinstance(metrics, dict):
                self._add(name, metrics)

    def take(self) -> dict[str, Any] | None:
        """Return what was added since the last call, normalised, with the counts as OpenHands has them."""
        added, self._new = self._new, dict.fromkeys(_COUNTS, 0)
        if not any(added.values()):
            return None
        cached = added["cache_read_tokens"] + added["cache_write_tokens"]
        return {
            "input_uncached": max(0, added["prompt_tokens"] - cached),
            "cache_read": added["cache_read_tokens"],
            "cache_write": added["cache_write_tokens"],
            "output": added["completion_tokens"],
            **({"reasoning": added["reasoning_tokens"]} if added["reasoning_tokens"] else {}),
            "raw": added,
        }

    def _add(self, name: str, metrics: Mapping[str, Any]) -> None:
        usage = object_field(metrics, "accumulated_token_usage")
        before = self._totals.get(name, {})
        now = {each: count for each in _COUNTS if type(count := usage.get(each)) is int and count >= 0}
        for each, count in now.items():
            self._new[each] += max(0, count - before.get(each, 0))
        self._totals[name] = now
        if name != "condenser":
            self.model = text_field(usage, "model") or text_field(metrics, "model_name") or self.model
