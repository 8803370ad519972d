"""The mark of a fence cannot be known before a prompt is rendered, and is nowhere inside the fence."""

from __future__ import annotations

import math
import os

import pytest

from scopes import clock
from scopes.errors import Invalid
from scopes.fence import MARK_DIGITS, check_mark, draw_mark, fenced


def test_a_mark_has_at_least_96_random_bits(monkeypatch):
    """R2: marks that depend on the text alone can be computed by whoever writes it."""
    assert MARK_DIGITS * math.log2(10) >= 96
    monkeypatch.setattr(clock, "random_bytes", os.urandom)
    marks = {draw_mark("the same text") for _ in range(100)}
    assert len(marks) == 100
    assert all(len(mark) == MARK_DIGITS and mark.isdecimal() for mark in marks)


def test_a_mark_that_occurs_in_the_text_is_drawn_again(monkeypatch):
    draws = iter([7, 0, 8, 9])
    monkeypatch.setattr(clock, "random_bytes", lambda size: next(draws).to_bytes(size, "big"))
    assert draw_mark(f"I saw {7:0{MARK_DIGITS}d} and {8:0{MARK_DIGITS}d}") == f"{9:0{MARK_DIGITS}d}"


@pytest.mark.parametrize(
    "mark", ["", "short", "x" * 15, "x" * 65, "a mark with spaces 1", "ümlautümlautümla", "x" * 16 + "\n"]
)
def test_a_mark_that_could_be_guessed_or_misread_is_refused(mark):
    with pytest.raises(Invalid, match="invalid mark"):
        check_mark(mark)


@pytest.mark.parametrize("mark", [None, "x" * 16, "A1" * 32])
def test_other_marks_are_accepted(mark):
    assert check_mark(mark) == mark


@pytest.mark.parametrize("change", [str, str.upper, str.lower])
def test_text_that_contains_the_given_mark_is_refused(change):
    with pytest.raises(Invalid, match="occurs in the recorded text"):
        fenced("history", f"it was {change('AbcdEfghIjklMnop')}\n\n", "AbcdEfghIjklMnop")


def test_the_text_is_between_two_lines_with_the_mark():
    assert fenced("memory", "text\n\n", "x" * 16) == (
        "----- recorded memory xxxxxxxxxxxxxxxx begins -----\n\ntext\n\n----- recorded memory xxxxxxxxxxxxxxxx ends -----\n"
    )
