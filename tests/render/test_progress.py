from __future__ import annotations

import itertools

import pytest

from scopes.render.output import progress
from tests.render.hostile import ANY_COLORS, PAYLOADS
from tests.render.sample import output, written

XTERM = {"TERM": "xterm"}


def progress_text(*, step=0.5, label="importing", total=8, count=8, in_bytes=False, delay=1.0, **options):
    """The text on standard error for work that reports progress every `step` seconds."""
    clock = itertools.count(0, step)
    made = output(**{"terminal": True, "environ": XTERM} | options)
    with progress(made, label, total, in_bytes=in_bytes, delay=delay, clock=lambda: next(clock)) as advance:
        for _ in range(count):
            advance(1)
    data, talk = written(made)
    assert data == ""
    return talk


def test_long_work_shows_how_much_is_done():
    talk = progress_text()
    assert "importing" in talk
    assert "2/8" in talk
    assert "8/8" in talk


def test_work_of_less_than_a_second_shows_nothing():
    assert progress_text(step=0.1) == ""


def test_a_shorter_delay_can_be_asked_for():
    assert progress_text(step=0.1, delay=0.0) != ""


def test_the_bar_is_drawn_at_most_ten_times_a_second():
    assert progress_text(step=0.01, count=200, total=200).count("importing") <= 15


def test_the_bar_is_erased_at_the_end():
    assert progress_text().endswith(("\x1b[2K", "\x1b[?25h", "\r"))


def test_work_of_unknown_size_is_counted():
    text = progress_text(total=None, count=5)
    assert " 5" in text
    assert "?" not in text.replace("\x1b[?25", "")


@pytest.mark.parametrize(
    "options",
    [{"terminal": False}, {"environ": {"TERM": "dumb"}}, {"quiet": True}, {"json": True}],
)
def test_without_a_terminal_nothing_is_shown(options):
    assert progress_text(**options) == ""


def test_the_bar_is_erased_when_the_work_fails():
    clock = itertools.count()
    made = output(terminal=True, environ=XTERM)

    def fail():
        with progress(made, "importing", clock=lambda: next(clock)) as advance:
            advance(1)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert " 1" in written(made)[1]
    assert "\x1b[?25h" in written(made)[1]


def test_without_color_the_bar_has_none():
    talk = progress_text(environ={"NO_COLOR": "1", **XTERM})
    assert "8/8" in talk
    assert ANY_COLORS.search(talk) is None


@pytest.mark.parametrize("payload", [p for p in PAYLOADS if "\x1b" in p or "\x9b" in p])
def test_a_label_cannot_control_the_terminal(payload):
    talk = progress_text(label=payload)
    assert payload not in talk
    assert "]52" not in talk or "^[]52" in talk


def test_progress_in_bytes_is_shown_in_mebibytes():
    text = progress_text(total=8 << 20, in_bytes=True)
    assert "/8.0 MiB" in text
    assert str(8 << 20) not in text


def test_work_of_unknown_size_has_no_bar():
    assert "\u2501" not in progress_text(total=None, count=5)


@pytest.mark.parametrize(("count", "rest", "drawn"), [(3, 6, "3/8"), (8, 1, "8/8"), (9, -3, "5/5")])
def test_a_total_that_is_counted_later_is_the_finished_items_and_the_rest(count, rest, drawn):
    """The rest is counted once, when the bar is drawn first. More finished items than the total fill the bar."""
    clock, asked = itertools.chain([0, *[0] * (count - 1)], itertools.repeat(9)), []
    made = output(terminal=True, environ=XTERM)
    with progress(made, "indexing", clock=lambda: next(clock)) as meter:
        meter.expect(lambda: asked.append(1) or rest)
        for _ in range(count):
            meter(1)
    assert drawn in written(made)[1]
    assert asked == [1]


@pytest.mark.parametrize("options", [{"terminal": False}, {"quiet": True}, {"json": True}])
def test_a_total_is_not_counted_for_a_bar_that_is_not_drawn(options):
    made = output(**{"terminal": True, "environ": XTERM} | options)
    clock = itertools.count()
    with progress(made, "indexing", clock=lambda: next(clock)) as meter:
        meter.expect(lambda: pytest.fail("counted"))
        for _ in range(20):
            meter(1)
