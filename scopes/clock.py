"""Time and random ids: the only module that reads the clock or asks for random bytes, and the parser of dates.

Tests replace `read_clock` and `random_bytes`.
"""

from __future__ import annotations

import os
import re
import time
from base64 import b32encode
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

from scopes.errors import Invalid

if TYPE_CHECKING:
    from scopes.ids import MessageId

# A time with its offset, as it was recorded; a field of a Result with this annotation is in UTC in the JSON.
Time: TypeAlias = str

_SECOND = 1_000_000_000
_DAY_SECONDS = 86_400
_DAY_MINUTES = 1440
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds: the years 1 and 9999, beyond which no time can be parsed
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400,
    "w": 604800, "week": 604800, "mo": 2592000, "month": 2592000, "y": 31536000, "year": 31536000,
}  # fmt: skip
_NAMED_DAYS: dict[str, Callable[[date], date]] = {
    "today": lambda today: today,
    "yesterday": lambda today: today - timedelta(days=1),
    "this week": lambda today: today - timedelta(days=today.weekday()),
    "this month": lambda today: today.replace(day=1),
    "this year": lambda today: today.replace(month=1, day=1),
}
_SECONDS = tuple(f"{second:02d}Z" for second in range(60))
_MAX_TIME_LENGTH = 64  # of times that are cached
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SPAN = re.compile(r"(?P<count>[0-9]{1,9}|an?|last|past)[\s.]*(?P<unit>[a-z]+?)s?(?:[\s.]+ago)?", re.IGNORECASE)

read_clock: Callable[[], int] = time.time_ns
random_bytes: Callable[[int], bytes] = os.urandom


def wall_nanoseconds() -> int:
    """Return the time of the system's clock, for the reflog and for times of files; tests do not replace it."""
    return time.time_ns()


def now_nanoseconds() -> int:
    """Return nanoseconds since 1970-01-01T00:00:00Z."""
    return read_clock()


def now_milliseconds() -> int:
    """Return milliseconds since 1970-01-01T00:00:00Z."""
    return read_clock() // 1_000_000


def now() -> str:
    """Return the current time as RFC 3339 in UTC with milliseconds: `2026-11-21T08:30:00.123Z`."""
    return format_time(read_clock())


def format_time(nanoseconds: int) -> str:
    """Format nanoseconds since 1970 as RFC 3339 in UTC with milliseconds; the years are limited to 1 to 9999."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_format_valid(min(max(seconds, _FIRST), _LAST))[:-1]}.{rest // 1_000_000:03d}Z"


def format_seconds(seconds: int) -> str:
    """Format whole seconds since 1970 as RFC 3339 in UTC; the years are limited to 1 to 9999."""
    return _format_valid(min(max(seconds, _FIRST), _LAST))


def _format_valid(seconds: int) -> str:
    """Format whole seconds; days and minutes are cached, because a list formats very many times."""
    minute = seconds // 60
    return _format_day(minute // _DAY_MINUTES) + _format_minute(minute % _DAY_MINUTES) + _SECONDS[seconds % 60]


def local_day(seconds: int, *, utc: bool = False) -> str:
    """Return the day of whole seconds since 1970 in the time zone of this machine, or in UTC: `2026-11-21`."""
    return local_minute(seconds, utc=utc)[:10]


def local_minute(seconds: int, *, utc: bool = False) -> str:
    """Return whole seconds since 1970 in the time zone of this machine, or in UTC: `2026-11-21 14:05`."""
    bounded = min(max(seconds, _FIRST + _DAY_SECONDS), _LAST - _DAY_SECONDS)  # in every zone in the years 1 to 9999
    parts = time.gmtime(bounded) if utc else time.localtime(bounded)
    return f"{parts.tm_year:04d}-{parts.tm_mon:02d}-{parts.tm_mday:02d} {parts.tm_hour:02d}:{parts.tm_min:02d}"


@lru_cache(maxsize=1000)
def _format_day(day: int) -> str:
    """Format a number of days since 1970."""
    parts = time.gmtime(day * _DAY_SECONDS)
    return f"{parts.tm_year:04d}-{parts.tm_mon:02d}-{parts.tm_mday:02d}T"


@lru_cache(maxsize=_DAY_MINUTES)
def _format_minute(minute: int) -> str:
    """Format a number of minutes since midnight."""
    return f"{minute // 60:02d}:{minute % 60:02d}:"


def known_seconds(seconds: int) -> str | None:
    """Format whole seconds since 1970; None for 0, the time of a message without one, and beyond the year 9999."""
    return _format_valid(seconds) if seconds and _FIRST <= seconds <= _LAST else None


def parse_time(text: str) -> int | None:
    """Parse RFC 3339 or ISO 8601 as nanoseconds since 1970; None if the text is neither.

    A time without a zone is UTC. Digits after microseconds are dropped.
    """
    return _parse_short_time(text) if len(text) <= _MAX_TIME_LENGTH else _parse_time(text)


@lru_cache(maxsize=256)
def _parse_short_time(text: str) -> int | None:
    """Parse a time; cached, because an import checks, stores and compares that of every record."""
    return _parse_time(text)


def _parse_time(text: str) -> int | None:
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    try:
        since = parsed - _EPOCH
    except OverflowError:
        return None
    return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def seconds_of(text: str) -> int:
    """Parse a time as whole seconds since 1970, rounded down; 0 if the text is not a time."""
    return (parse_time(text) or 0) // 1_000_000_000


def utc(time: str | None) -> str | None:
    """Return an RFC 3339 time in UTC; text that is not a time is returned unchanged."""
    if time is None or time.endswith("Z"):
        return time
    moment = parse_time(time)
    return time if moment is None else format_time(moment)


def in_seconds(time: str) -> str:
    """Return an RFC 3339 time without fractions of a second: people see whole seconds, JSON has what is recorded."""
    before, _, after = time.partition(".")
    return before + after.lstrip("0123456789")


def creation_time(created: str) -> str | None:
    """Return a stored creation time; None if it is unknown, which is stored as the year 1970."""
    return created if seconds_of(created) else None


def last_activity(newest: int, created: str) -> str | None:
    """Return the time of the newest message, or of the creation if that is later: nothing is active before (S4-5)."""
    if seconds_of(created) < newest or not seconds_of(created):
        return known_seconds(newest)
    return created if created.endswith("Z") else format_time(parse_time(created) or 0)


def jitter() -> float:
    """Return a random number from 0 up to but not including 1, for the delay before a retry."""
    return random_bytes(1)[0] / 256


def new_id() -> MessageId:
    """Return 26 lower-case base32 characters: 130 random bits."""
    return cast("MessageId", b32encode(random_bytes(17)).decode("ascii").lower()[:26])


def new_uuid() -> str:
    """Return a random UUID (version 4, RFC 9562) as text."""
    octets = bytearray(random_bytes(16))
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def parse_window(since: str | None, until: str | None, now_nanoseconds: int) -> tuple[int | None, int | None]:
    """Parse the two ends of a span of time, as `parse_date` does; None for an open end. A day as `until` is in it.

    Raises:
        Invalid: one is not a time, or the span ends before it begins.
    """
    start, end = (None if text is None else parse_date(text, now_nanoseconds) for text in (since, until))
    day = None if until is None else _name_day(until, now_nanoseconds)
    if day is not None and end is not None and _DAY.fullmatch(day):
        day_after = _parse_zoneless(day, days_later=1)
        end = end + _DAY_SECONDS * _SECOND - 1 if day_after is None else day_after - 1
    if start is not None and end is not None and start > end:
        raise Invalid(f"--since {since!a} is after --until {until!a}", hint="exchange them")
    return start, end


def _name_day(text: str, now_nanoseconds: int) -> str:
    """Return the day that a word means in the time zone of this machine: that of `this month` is its first one.

    Weeks begin on Monday. Other texts are returned as they are.
    """
    words = " ".join(text.lower().split())
    if words not in _NAMED_DAYS:
        return text.strip()
    today = (_EPOCH + timedelta(seconds=now_nanoseconds // _SECOND)).astimezone().date()
    return _NAMED_DAYS[words](today).isoformat()


def _parse_zoneless(text: str, *, days_later: int = 0) -> int | None:
    """Parse a time, or a day, that names no zone, as one of this machine's zone; as UTC if it is not known there."""
    with suppress(ValueError, OverflowError, OSError):
        parsed = datetime.fromisoformat(text.strip()) + timedelta(days=days_later)
        if parsed.tzinfo is None:
            return parse_time(parsed.astimezone().isoformat())
    return parse_time(text) if not days_later else None


def parse_date(text: str, now_nanoseconds: int) -> int:
    """Parse a time into nanoseconds since 1970; a month is 30 days, a year 365, and `last week` is `1 week ago`.

    A day, and a time that names no zone, is one in the time zone of this machine, as for git; `today`, `yesterday`,
    `this week`, `this month` and `this year` are days.

    Raises:
        Invalid: the text is not a time.
    """
    day = _name_day(text, now_nanoseconds)
    words = day.lower()
    if words == "now":
        return now_nanoseconds
    exact = _parse_zoneless(day)
    if exact is not None and re.match(r"[0-9]{4}-", words):
        return exact
    span = _SPAN.fullmatch(words)
    if span is not None and span["unit"] in _UNITS:
        count = int(span["count"]) if span["count"].isdecimal() else 1
        return now_nanoseconds - count * _UNITS[span["unit"]] * _SECOND
    raise Invalid(
        f"{text!a} is not a valid time",
        hint="for example: '2 hours ago', 'last month', 2mo, yesterday, 2026-01-31, 2026-01-31T09:30:00Z",
    )
