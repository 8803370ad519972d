"""Rules shared by all JSON objects: unknown fields are absent, times are in UTC."""

from __future__ import annotations

from scopes.clock import format_time, parse_time


def known(**fields: object) -> dict[str, object]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def utc(time: str | None) -> str | None:
    """Return an RFC 3339 time in UTC; text that is not a time is returned unchanged."""
    if time is None or time.endswith("Z"):
        return time
    moment = parse_time(time)
    return time if moment is None else format_time(moment)


def staleness(newer: int | None) -> dict[str, object]:
    """Return whether a summary is stale; nothing if `newer` is None, that is, for other messages (S4-47)."""
    return {} if newer is None else {"stale": newer > 0, "newer_messages": newer}
