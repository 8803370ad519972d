"""Parse times as people write them: `2 hours ago`, `yesterday`, `2026-01-31`, an RFC 3339 time, `90m`."""

from __future__ import annotations

import re

from scopes.clock import parse_time
from scopes.errors import Invalid

_SECOND = 1_000_000_000
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400,
    "w": 604800, "week": 604800, "month": 2592000, "y": 31536000, "year": 31536000,
}  # fmt: skip
_SPAN = re.compile(r"(?P<count>[0-9]{1,9}|an?)[\s.]*(?P<unit>[a-z]+?)s?(?:[\s.]+ago)?", re.IGNORECASE)


def parse_moment(text: str, now_nanoseconds: int) -> int:
    """Parse a time into nanoseconds since 1970; a month is 30 days, a year 365.

    Raises:
        Invalid: the text is not a time.
    """
    words = text.strip().lower()
    if words in ("now", "today"):
        return now_nanoseconds
    if words == "yesterday":
        return now_nanoseconds - 86400 * _SECOND
    exact = parse_time(text)
    if exact is not None and re.match(r"[0-9]{4}-", words):
        return exact
    span = _SPAN.fullmatch(words)
    if span is not None and span["unit"] in _UNITS:
        count = 1 if span["count"].startswith("a") else int(span["count"])
        return now_nanoseconds - count * _UNITS[span["unit"]] * _SECOND
    raise Invalid(
        f"{text!a} is not a time", hint="for example: '2 hours ago', yesterday, 2026-01-31, 2026-01-31T09:30:00Z"
    )
