"""Format a time relative to now, as short as the cell of a list."""

from __future__ import annotations

from scopes.clock import format_time, parse_time
from scopes.sanitize import clean_line

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
_MAX_SECONDS = 30 * 86_400


def ago(time: str, now_nanoseconds: int) -> str:
    """Return `just now`, `2m ago`, `3h ago` or `5d ago`, `in 5m` for the future, and the date in UTC beyond 30 days.

    Text that is not an RFC 3339 time is returned unchanged.
    """
    moment = parse_time(time)
    if moment is None:
        return clean_line(time)
    seconds = (now_nanoseconds - moment) // 1_000_000_000
    distance = abs(seconds)
    if distance >= _MAX_SECONDS:
        return format_time(moment)[:10]
    unit, size = next(((unit, size) for unit, size in _UNITS if distance >= size), ("", 0))
    if not size:
        return "just now"
    count = distance // size
    return f"{count}{unit} ago" if seconds > 0 else f"in {count}{unit}"
