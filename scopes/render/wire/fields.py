"""The rules that all JSON objects share: what is unknown is absent, and times are in UTC."""

from __future__ import annotations

from scopes.clock import format_time, parse_time


def known(**fields: object) -> dict[str, object]:
    """Return the fields without those that are unknown."""
    return {name: value for name, value in fields.items() if value is not None}


def utc(time: str | None) -> str | None:
    """Write an RFC 3339 time in UTC; one in UTC already, and what is no time, stays as it is."""
    if time is None or time.endswith("Z"):
        return time
    moment = parse_time(time)
    return time if moment is None else format_time(moment)


def staleness(newer: int | None) -> dict[str, object]:
    """Tell of a summary whether messages came after it; nothing of what is none (S4-47)."""
    return {} if newer is None else {"stale": newer > 0, "newer_messages": newer}
