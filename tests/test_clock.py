"""Times are formatted and parsed without loss; ids and UUIDs have their format and all their random bits."""

from __future__ import annotations

import datetime as dt
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes import clock
from scopes.clock import (
    format_seconds,
    format_time,
    in_seconds,
    jitter,
    known_seconds,
    new_id,
    new_uuid,
    now,
    now_nanoseconds,
    parse_time,
    seconds_of,
)
from scopes.ids import is_message_id

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
FIRST, LAST = -62_135_596_800 * SECOND, 253_402_300_799 * SECOND  # the years 1 and 9999
moments = st.integers(FIRST, LAST)


@given(moments)
def test_parsing_a_formatted_time_returns_its_milliseconds(nanoseconds):
    text = format_time(nanoseconds)
    assert parse_time(text) == nanoseconds // MILLISECOND * MILLISECOND
    assert len(text) == len("2026-01-01T00:00:00.000Z")


@pytest.mark.parametrize("seconds", [LAST // SECOND + 1, 67768036191676799, 10**17, 10**18 - 1])
def test_a_time_beyond_the_year_9999_is_unknown_or_limited(seconds):
    """A commit that another program wrote may have any time."""
    assert known_seconds(seconds) is None
    assert format_seconds(seconds) == "9999-12-31T23:59:59Z"
    assert format_time(seconds * SECOND).startswith("9999-12-31T23:59:59.")


@given(moments, moments)
def test_formatted_times_sort_like_times(one, two):
    """A list may be sorted without being parsed."""
    assert (format_time(one) < format_time(two)) == (one // MILLISECOND < two // MILLISECOND)


@given(st.integers(FIRST // SECOND, LAST // SECOND), st.integers(-23 * 60, 23 * 60))
def test_a_time_zone_offset_is_applied(seconds, minutes):
    local = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    text = local.replace(tzinfo=dt.timezone(dt.timedelta(minutes=minutes))).isoformat()
    assert parse_time(text) == (seconds - 60 * minutes) * SECOND


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 0),
        ("1970-01-01T00:00:00.0000019Z", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999Z", -MILLISECOND),
        ("1970-01-01 00:00:01", SECOND),
        ("1970-01-02", 86_400 * SECOND),
        ("19700102T000000Z", 86_400 * SECOND),
        (" 1970-01-01T00:00:00Z\n", 0),
        ("0001-01-01T00:00:00Z", FIRST),
        ("9999-12-31T23:59:59Z", LAST),
        ("0001-01-01T00:00:00+23:59", FIRST - 86_340 * SECOND),
        ("9999-12-31T23:59:59-23:59", LAST + 86_340 * SECOND),
    ],
)
def test_valid_times_are_parsed(text, nanoseconds):
    assert parse_time(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    ["", "now", "yesterday", "2026", "1767225600", "2026-13-01", "2026-02-30", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+25:00", "10000-01-01T00:00:00Z",
     "-001-01-01", "\0", "\ud800", "2026-01-01T00:00:00Z; rm", "2026-01-01T00:00:00" + "0" * 10_000, "\u0662\u0660\u0662\u0666-01-01"],
    ids=ascii,
)  # fmt: skip
def test_other_texts_are_not_times(text):
    """B-19."""
    assert parse_time(text) is None
    assert seconds_of(text) == 0


@given(st.text(max_size=40) | st.from_regex(r"[0-9TZ:+.\-]{1,30}", fullmatch=True))
def test_parsing_any_text_returns_a_time_or_none(text):
    assert parse_time(text) is None or isinstance(parse_time(text), int)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1970-01-01T00:00:01.999Z", 1), ("1969-12-31T23:59:59.001Z", -1), ("1970-01-01T00:00:00Z", 0)],
)
def test_parsed_seconds_are_rounded_down(text, seconds):
    assert seconds_of(text) == seconds


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_formatted_seconds_are_those_of_the_standard_library(seconds):
    expected = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    assert format_seconds(seconds) == f"{expected.replace(tzinfo=None).isoformat()}Z"
    assert format_time(seconds * 10**9 + 42_999_999) == f"{expected.replace(tzinfo=None).isoformat()}.042Z"
    assert known_seconds(seconds) == (format_seconds(seconds) if seconds else None)


def test_seconds_are_formatted_in_utc():
    assert format_seconds(0) == "1970-01-01T00:00:00Z"
    assert format_seconds(2**32 - 1) == "2106-02-07T06:28:15Z"


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/St_Johns"])
def test_the_time_zone_of_the_machine_does_not_matter(monkeypatch, zone):
    """P11."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert format_time(0) == "1970-01-01T00:00:00.000Z"
        assert parse_time("1970-01-01T00:00:00") == 0
        assert format_seconds(0) == "1970-01-01T00:00:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_now_is_the_time_of_the_clock(monkeypatch):
    monkeypatch.setattr(clock, "read_clock", lambda: 1_700_000_000_123_456_789)
    assert now_nanoseconds() == 1_700_000_000_123_456_789
    assert now() == "2023-11-14T22:13:20.123Z"


def test_without_replacement_the_clock_and_random_bytes_are_those_of_the_system(monkeypatch):
    monkeypatch.undo()
    assert abs(now_nanoseconds() - time.time_ns()) < 10 * SECOND
    assert len({new_id() for _ in range(1000)}) == 1000
    assert len({new_uuid() for _ in range(1000)}) == 1000


@given(st.binary(min_size=17, max_size=17))
def test_an_id_has_26_characters_and_130_bits(seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "random_bytes", lambda size: seed[:size])
        one = new_id()
        assert is_message_id(one)
        patch.setattr(clock, "random_bytes", lambda size: bytes([seed[0] ^ 1]) + seed[1:size])
        assert new_id() != one


@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_has_version_4(seed):
    """RFC 9562."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "random_bytes", lambda size: seed[:size])
        text = new_uuid()
    assert [len(group) for group in text.split("-")] == [8, 4, 4, 4, 12]
    assert text[14] == "4"
    assert text[19] in "89ab"


@pytest.mark.parametrize(("byte", "number"), [(0, 0.0), (255, 255 / 256)])
def test_jitter_is_a_number_below_one(monkeypatch, byte, number):
    monkeypatch.setattr(clock, "random_bytes", lambda size: bytes([byte] * size))
    assert jitter() == number


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-01-31T10:00:00.123Z", "2026-01-31T10:00:00Z"),
        ("2026-01-31T10:00:00.123456789Z", "2026-01-31T10:00:00Z"),
        ("2026-01-31T10:00:00.5+01:00", "2026-01-31T10:00:00+01:00"),
        ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
        ("-", "-"),
        ("", ""),
    ],
)
def test_a_time_for_people_has_whole_seconds(time, shown):
    assert in_seconds(time) == shown
