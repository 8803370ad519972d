from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.clock import format_time, parse_time
from scopes.render.relative_time import ago

NOW = parse_time("2026-03-01T12:00:00Z")
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-03-01T12:00:00Z", "just now"),
        ("2026-03-01T11:59:01Z", "just now"),
        ("2026-03-01T11:59:00Z", "1m ago"),
        ("2026-03-01T11:58:00.500Z", "1m ago"),
        ("2026-03-01T11:00:01Z", "59m ago"),
        ("2026-03-01T11:00:00Z", "1h ago"),
        ("2026-03-01T09:00:00+00:00", "3h ago"),
        ("2026-03-01T12:00:00+02:00", "2h ago"),
        ("2026-02-28T12:00:01Z", "23h ago"),
        ("2026-02-24T12:00:00Z", "5d ago"),
        ("2026-01-31T12:00:00Z", "29d ago"),
        ("2026-01-30T12:00:00Z", "2026-01-30"),
        ("1970-01-01T00:00:00Z", "1970-01-01"),
        ("2026-03-01T12:00:59Z", "just now"),
        ("2026-03-01T12:05:00Z", "in 5m"),
        ("2026-03-02T12:00:00Z", "in 1d"),
        ("2027-03-01T12:00:00Z", "2027-03-01"),
    ],
)
def test_a_relative_time_has_its_largest_unit_and_becomes_a_date_after_a_month(time, expected):
    """S4-53: "2m ago"."""
    assert ago(time, NOW) == expected


def test_the_date_is_the_one_in_utc():
    assert ago("2025-12-31T23:30:00-02:00", NOW) == "2026-01-01"


@pytest.mark.parametrize(("text", "expected"), [("", ""), ("yesterday", "yesterday"), ("\x1b[2J", "^[[2J")])
def test_text_that_is_not_a_time_is_unchanged(text, expected):
    assert ago(text, NOW) == expected


@given(st.integers(0, 4_000_000_000))
def test_every_relative_time_is_short(seconds):
    assert 0 < len(ago(format_time(seconds * SECOND), NOW)) <= 10


@given(st.integers(60, 29 * 86_400))
def test_past_and_future_have_the_same_form(seconds):
    past, future = (ago(format_time(NOW + way * seconds * SECOND), NOW) for way in (-1, 1))
    assert past.removesuffix(" ago") == future.removeprefix("in ")
