from __future__ import annotations

import time as clock_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.clock import format_time, parse_time
from scopes.render.phrases import ago, day_and_minute

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
        ("2026-03-01T11:00:00Z", "11:00"),
        ("2026-03-01T09:00:00+00:00", "09:00"),
        ("2026-03-01T12:00:00+02:00", "10:00"),
        ("2026-02-28T23:59:59Z", "yesterday 23:59"),
        ("2026-02-27T12:00:00Z", "27 Feb"),
        ("2026-01-01T00:00:00Z", "1 Jan"),
        ("2025-12-31T12:00:00Z", "31 Dec 2025"),
        ("1970-01-01T00:00:00Z", "1 Jan 1970"),
        ("2026-03-01T12:00:59Z", "just now"),
        ("2026-03-01T12:05:00Z", "in 5m"),
        ("2026-03-01T18:00:00Z", "18:00"),
        ("2026-03-02T12:00:00Z", "2 Mar"),
        ("2027-03-01T12:00:00Z", "1 Mar 2027"),
    ],
)
def test_the_nearer_a_time_is_the_more_of_it_is_shown(time, expected):
    """S4-53: "2m ago"; U6: the hour of today and yesterday."""
    assert ago(time, NOW) == expected


def test_times_are_those_of_the_zone_of_this_machine(monkeypatch):
    """U6."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    clock_time.tzset()
    try:
        assert ago("2026-03-01T08:00:00Z", NOW) == "09:00"
        assert ago("2026-02-28T23:30:00Z", NOW) == "00:30"
        assert day_and_minute("2026-06-30T22:30:00Z", NOW) == "1 Jul 00:30"
    finally:
        monkeypatch.undo()
        clock_time.tzset()


@pytest.mark.parametrize(("text", "expected"), [("", ""), ("yesterday", "yesterday"), ("\x1b[2J", "^[[2J")])
def test_text_that_is_not_a_time_is_unchanged(text, expected):
    assert ago(text, NOW) == expected


@given(st.integers(0, 4_000_000_000))
def test_every_time_is_short(seconds):
    assert 0 < len(ago(format_time(seconds * SECOND), NOW)) <= len("yesterday 14:05")
