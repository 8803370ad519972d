from __future__ import annotations

from typing import get_args

import pytest

from scopes.render.view import PALETTE, Style, decide_color, is_dumb, paint

XTERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("flag", "environ", "is_terminal", "colored"),
    [
        ("auto", XTERM, True, True),
        ("auto", XTERM, False, False),
        ("auto", {}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1", **XTERM}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", **XTERM}, True, False),
        ("auto", {"NO_COLOR": "", **XTERM}, True, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "CLICOLOR": "0"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"CLICOLOR": "0", **XTERM}, True, False),
        ("auto", {"CLICOLOR": "1", **XTERM}, True, True),
        ("auto", {"CLICOLOR": "1", **XTERM}, False, False),
    ],
)
def test_the_flag_beats_the_environment_and_the_environment_the_terminal(flag, environ, is_terminal, colored):
    assert decide_color(flag, environ, is_terminal=is_terminal) is colored


def test_a_terminal_without_term_is_dumb():
    assert is_dumb({})
    assert is_dumb({"TERM": "dumb"})
    assert not is_dumb({"TERM": "vt100"})


def test_every_style_has_a_color():
    assert set(PALETTE) == set(get_args(Style))


def test_nothing_is_blue():
    """U18: it is hardest to read on black."""
    assert not any(code in {"34", "94"} for codes in PALETTE.values() for code in codes.split(";"))


def test_paint_resets_what_it_sets():
    assert paint("main", "branch") == "\x1b[32mmain\x1b[0m"


def test_nothing_is_painted_without_a_style_or_a_text():
    assert paint("main", "") == paint("main", "agent") == "main"
    assert paint("", "bad") == ""
