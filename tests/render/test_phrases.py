from __future__ import annotations

import pytest

from scopes.render.phrases import author, format_duration, full_time, identifier, short_time, subject, write_hint
from scopes.render.terminal import TerminalView
from scopes.render.view import Span, View
from scopes.result import counted, format_size
from tests.render.results import head

PIPE = View(print)
TERMINAL = TerminalView(print, width=80, color=False)


@pytest.mark.parametrize(
    ("number", "one", "expected"),
    [
        (0, "message", "0 messages"),
        (1, "message", "1 message"),
        (2, "branch", "2 branches"),
        (12345, "line", "12,345 lines"),
    ],
)
def test_counts_have_english_plurals(number, one, expected):
    assert counted(number, one) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB"), (3 << 50, "3072.0 TiB")],
)
def test_bytes_have_the_largest_fitting_unit(count, expected):
    assert format_size(count) == expected


def test_ids_are_abbreviated_on_a_terminal_only():
    assert identifier(TERMINAL, "k3x9abcdefgh") == Span("k3x9abcd", "id")
    assert identifier(PIPE, "k3x9abcdefgh") == Span("k3x9abcdefgh", "id")


def test_times_are_relative_on_a_terminal_only(at_one_moment):
    assert short_time(TERMINAL, "2025-12-31T23:58:00Z").text == "2m ago"
    assert short_time(PIPE, "2025-12-31T23:58:00Z").text == "2025-12-31T23:58:00Z"


def test_a_full_time_has_its_day_and_minute_and_how_long_ago_that_was(at_one_moment):
    assert full_time(TERMINAL, "2025-12-31T23:58:00Z").text == "31 Dec 2025 23:58 (2m ago)"
    assert full_time(TERMINAL, "2025-10-01T12:00:00Z").text == "1 Oct 2025 12:00"
    assert full_time(PIPE, "2025-12-31T23:58:00Z").text == "2025-12-31T23:58:00Z"
    assert full_time(TERMINAL, "long ago").text == "long ago"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("human", Span("carol", "human")), ("agent", Span("carol", "agent")), ("system", Span("SYSTEM", "agent"))],
)
def test_the_system_is_written_in_capitals(kind, expected):
    assert author("carol", kind) == expected


def test_a_whole_subject_has_no_ellipsis():
    assert subject(head("a", "carol", "x" * 70)) == "x" * 70
    assert subject(head("a", "carol", "x" * 71)) == "x" * 71 + "…"  # cut after a blank
    assert subject(head("a", "carol", "x" * 72)) == "x" * 72 + "…"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.42, "0.4 s"), (9.96, "10.0 s"), (12.3, "12 s"), (59.7, "1m 0s"), (125, "2m 5s"), (3780, "1h 3m")],
)
def test_short_durations_have_more_digits(seconds, expected):
    assert format_duration(seconds) == expected


def test_a_hint_is_broken_before_its_command():
    """A command was cut inside a word at 80 columns, and later between two words."""
    rows: list[str] = []
    words = "resolve:   scopes conflicts resolve conv-001 k3x9abcd --take source --continue --reason measured"
    write_hint(TerminalView(rows.append, width=80, color=False), words)
    lines = "".join(rows).splitlines()
    assert lines == ["resolve:", words.removeprefix("resolve:").strip()]
