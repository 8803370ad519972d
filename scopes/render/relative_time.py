"""Write a time as people read it: in the zone of this machine, and the nearer it is the more of it."""

from __future__ import annotations

from scopes.clock import local_minute, parse_time
from scopes.sanitize import clean_line

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SECOND = 1_000_000_000
_HOUR, _DAY = 3_600, 86_400


def ago(time: str, now_nanoseconds: int) -> str:
    """Return `2m ago`, `14:05`, `yesterday 14:05`, `17 Jun` or `17 Jun 2025`, and `in 5m` for the next hour.

    Text that is not an RFC 3339 time is returned unchanged, by the other functions too.
    """
    moment = parse_time(time)
    if moment is None:
        return clean_line(time)
    seconds, now = moment // _SECOND, now_nanoseconds // _SECOND
    distance = abs(now - seconds)
    if distance < 60:
        return "just now"
    if distance < _HOUR:
        return f"{distance // 60}m ago" if seconds < now else f"in {distance // 60}m"
    day, _, minute = local_minute(seconds).partition(" ")
    if day == local_minute(now)[:10]:
        return minute
    return f"yesterday {minute}" if day == local_minute(now - _DAY)[:10] else day_of(time, now_nanoseconds)


def day_of(time: str, now_nanoseconds: int) -> str:
    """Return `28 Nov`, or `28 Nov 2025` if that is not this year."""
    moment = parse_time(time)
    if moment is None:
        return clean_line(time)
    return short_day(local_minute(moment // _SECOND)[:10], now_nanoseconds)


def short_day(day: str, now_nanoseconds: int) -> str:
    """Return `2025-11-28`, a day in the zone of this machine, as `28 Nov` or `28 Nov 2025`."""
    year, month, number = day.split("-")
    short = f"{int(number)} {_MONTHS[int(month) - 1]}"
    return short if year == local_minute(now_nanoseconds // _SECOND)[:4] else f"{short} {year}"


def minute_of(time: str) -> str:
    """Return `14:05`."""
    moment = parse_time(time)
    return clean_line(time) if moment is None else local_minute(moment // _SECOND)[11:]


def day_and_minute(time: str, now_nanoseconds: int) -> str:
    """Return `28 Nov 14:05`, with the year if it is not this one."""
    known = parse_time(time) is not None
    return f"{day_of(time, now_nanoseconds)} {minute_of(time)}" if known else clean_line(time)
