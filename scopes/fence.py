"""Fence recorded text in a prompt between two lines with a mark that the text does not contain.

The mark is drawn at random for every rendering. Somebody who has seen the marks of earlier prompts, or who knows this
code, cannot write a message that closes the fence of a later one. A mark that a program sets is fixed, for
output that can be compared; text that contains it is refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scopes import clock
from scopes.errors import Invalid

MARK_DIGITS = 30  # at least 96 random bits; groups of three digits are one token each, whatever they are
PLACEHOLDER = "0" * MARK_DIGITS  # has as many tokens as every mark that is drawn
_RANDOM_BYTES = 32  # many more bits than the digits have, so that all marks are equally likely
_MARK = re.compile(r"[A-Za-z0-9]{16,64}")
BEGINS = "----- recorded "
_FIRST_LINE = re.compile(rf"{BEGINS}([a-z]{{1,20}}) ({_MARK.pattern}) begins -----\n")


class Fence(NamedTuple):
    """A fence that is found in a text: its name, and where its first line begins and its last one ends."""

    name: str
    start: int
    end: int


def check_mark(mark: str | None) -> str | None:
    """Return a mark that the user set; None if a mark is to be drawn.

    Raises:
        Invalid: the mark is too short, too long, or has other characters than ASCII letters and digits.
    """
    if mark is not None and _MARK.fullmatch(mark) is None:
        raise Invalid(
            f"invalid mark {mark!a}: must be 16 to 64 letters and digits",
            hint="choose one that no message contains, or leave it out",
        )
    return mark


def draw_mark(body: str) -> str:
    """Return random digits that do not occur in a text."""
    mark = PLACEHOLDER
    while mark in body or mark == PLACEHOLDER:
        number = int.from_bytes(clock.random_bytes(_RANDOM_BYTES), "big") % 10**MARK_DIGITS
        mark = f"{number:0{MARK_DIGITS}d}"
    return mark


def fence_lines(name: str, mark: str) -> tuple[str, str]:
    """Return what precedes and what follows recorded text; the text ends in a blank line."""
    return f"{BEGINS}{name} {mark} begins -----\n\n", f"{BEGINS}{name} {mark} ends -----\n"


def find_fence(text: str, start: int = 0) -> Fence | None:
    """Return the first complete fence of a text from a position on; None if there is none.

    Only the first line of a fence is looked at that could be one; lines of others may be inside.
    """
    first = _FIRST_LINE.search(text, start)
    if first is None:
        return None
    last = fence_lines(first[1], first[2])[1].rstrip("\n")
    end = text.find(f"\n{last}", first.end() - 1)
    return None if end < 0 else Fence(first[1], first.start(), end + 1 + len(last))


def fenced(name: str, body: str, mark: str | None = None) -> str:
    """Return a text inside its fence; without a mark, one is drawn.

    Raises:
        Invalid: the text contains the mark.
    """
    chosen = draw_mark(body) if mark is None else mark
    if chosen.lower() in body.lower():
        raise Invalid("the mark occurs in the recorded text", hint="choose another one, or none")
    begin, end = fence_lines(name, chosen)
    return f"{begin}{body}{end}"
