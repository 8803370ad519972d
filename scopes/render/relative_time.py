"""How long ago something was, in the few words that a list has room for."""

from __future__ import annotations

from scopes.clock import format_time, parse_time
from scopes.sanitize import clean_line

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
_LONGEST_SECONDS = 30 * 86_400


def ago(time: str, now_nanoseconds: int) -> str:
    """Say `just now`, `2m ago`, `3h ago`, `5d ago`, after 30 days the date in UTC; in the future `in 5m`.

    What is no RFC 3339 time is returned as it is.
    """
    moment = parse_time(time)
    if moment is None:
        return clean_line(time)
    seconds = (now_nanoseconds - moment) // 1_000_000_000
    distance = abs(seconds)
    if distance >= _LONGEST_SECONDS:
        return format_time(moment)[:10]
    unit, size = next(((unit, size) for unit, size in _UNITS if distance >= size), ("", 0))
    if not size:
        return "just now"
    count = distance // size
    return f"{count}{unit} ago" if seconds > 0 else f"in {count}{unit}"
