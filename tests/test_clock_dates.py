"""Moments as people write them."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.clock import format_time, parse_date, parse_time, parse_window
from scopes.errors import Invalid

NOW = parse_time("2026-11-21T12:00:00Z")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", "2026-11-21T12:00:00Z"), ("today", "2026-11-21T00:00:00Z"), (" Yesterday", "2026-11-20T00:00:00Z"),
        ("2 hours ago", "2026-11-21T10:00:00Z"), ("2 hours", "2026-11-21T10:00:00Z"), ("an hour ago", "2026-11-21T11:00:00Z"),
        ("a day ago", "2026-11-20T12:00:00Z"), ("90m", "2026-11-21T10:30:00Z"), ("90 min", "2026-11-21T10:30:00Z"),
        ("30s", "2026-11-21T11:59:30Z"), ("1 week ago", "2026-11-14T12:00:00Z"), ("3d", "2026-11-18T12:00:00Z"),
        ("1 month ago", "2026-10-22T12:00:00Z"), ("1 year ago", "2025-11-21T12:00:00Z"), ("0 s", "2026-11-21T12:00:00Z"),
        ("last week", "2026-11-14T12:00:00Z"), ("Last month", "2026-10-22T12:00:00Z"), ("last year", "2025-11-21T12:00:00Z"),
        ("past day", "2026-11-20T12:00:00Z"), ("1w", "2026-11-14T12:00:00Z"), ("2mo", "2026-09-22T12:00:00Z"),
        ("2.hours.ago", "2026-11-21T10:00:00Z"), ("  2 HOURS ago ", "2026-11-21T10:00:00Z"), ("2 secs", "2026-11-21T11:59:58Z"),
        ("2026-01-31", "2026-01-31T00:00:00Z"), ("2026-01-31 09:30", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z"), ("2026-01-31T09:30:00.5+01:00", "2026-01-31T08:30:00.5Z"),
        ("this week", "2026-11-16T00:00:00Z"), ("This month", "2026-11-01T00:00:00Z"), ("this year", "2026-01-01T00:00:00Z"),
        ("2030-01-01", "2030-01-01T00:00:00Z"), ("1969-12-31", "1969-12-31T00:00:00Z"),
    ],
)  # fmt: skip
def test_a_moment_is_understood(text, moment):
    """The tests run in UTC; a month has 30 days, a year 365."""
    assert parse_date(text, NOW) == parse_time(moment)


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("2026-11-20", "2026-11-20T23:59:59.999999Z"), (" 2026-11-20 ", "2026-11-20T23:59:59.999999Z"),
        ("2026-11-20T00:00:00Z", "2026-11-20T00:00:00Z"), ("yesterday", "2026-11-20T23:59:59.999999Z"),
        ("today", "2026-11-21T23:59:59.999999Z"), ("9999-12-31", "9999-12-31T23:59:59.999999Z"),
    ],
)  # fmt: skip
def test_a_day_at_the_end_of_a_span_is_in_it(until, end):
    start, found = parse_window("2026-11-20", until, NOW)
    assert start == parse_time("2026-11-20")
    assert found // 1000 == parse_time(end) // 1000


@pytest.fixture
def in_berlin(monkeypatch):
    """The time zone of Berlin, for the code that runs in this process."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_days_are_those_of_this_machine():
    """On the day when the clocks go forward it has 23 hours."""
    found = parse_window("2026-03-29", "2026-03-29", NOW)
    assert found == (parse_time("2026-03-28T23:00:00Z"), parse_time("2026-03-29T22:00:00Z") - 1)


@pytest.mark.usefixtures("in_berlin")
def test_today_and_yesterday_are_days_of_this_machine():
    late = parse_time("2026-11-20T23:30:00Z")  # half past midnight in Berlin
    day = parse_time("2026-11-20T23:00:00Z")
    assert parse_window("today", "today", late) == (day, day + 24 * 3600 * 10**9 - 1)
    assert parse_window("yesterday", "yesterday", late) == (day - 24 * 3600 * 10**9, day - 1)


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-07-01", "2026-06-30T22:00:00Z"), ("2026-01-31 09:30", "2026-01-31T08:30:00Z"),
        ("2026-01-31T09:30:00.5", "2026-01-31T08:30:00.5Z"), ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30+05:00", "2026-01-31T04:30:00Z"), ("2 hours ago", "2026-11-21T10:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"), ("9999-12-31", "9999-12-30T23:00:00Z"),
    ],
)  # fmt: skip
def test_a_time_that_names_no_zone_is_one_of_this_machine(text, moment):
    assert parse_date(text, NOW) == parse_time(moment)


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "2", "hours", "2 fortnights", "-2 hours", "two hours", "2 hours hence", "2 hours ago ago", "2026", "20260131", "12:30",
     "2026-13-01", "2026-02-30", "1e3 s", "1234567890 s", "\u0662 hours", "2 hours\0", "\udcff", "x" * 10_000, "ago", "a"],
)  # fmt: skip
def test_what_is_no_moment_is_refused_with_examples(text):
    with pytest.raises(Invalid, match="is not a valid time") as refusal:
        parse_date(text, NOW)
    assert (
        refusal.value.hint
        == "for example: '2 hours ago', 'last month', 2mo, yesterday, 2026-01-31, 2026-01-31T09:30:00Z"
    )
    assert refusal.value.message.isprintable()


@given(st.integers(min_value=0, max_value=4_000_000_000))
def test_a_written_time_is_read_back(seconds):
    """A law."""
    assert parse_date(format_time(seconds * 1_000_000_000), NOW) == seconds * 1_000_000_000


@given(
    st.integers(min_value=0, max_value=999_999_999),
    st.sampled_from(["s", "minutes", "h", "days", "week", "month", "years"]),
)
def test_a_span_never_leads_into_the_future(count, unit):
    """A law; spans of a billion years are only long ago."""
    assert parse_date(f"{count} {unit}", NOW) <= NOW


@given(st.text(max_size=30))
def test_any_text_is_a_moment_or_refused(text):
    """A law."""
    with contextlib.suppress(Invalid):
        assert isinstance(parse_date(text, NOW), int)
