"""Fence recorded text in a prompt between two lines with a mark that the text does not contain.

The mark is drawn at random for every rendering. Somebody who has seen the marks of earlier prompts, or who knows this
code, cannot write a message that closes the fence of a later one. A mark that the user sets (`--mark`) is fixed, for
output that can be compared; text that contains it is refused.
"""

from __future__ import annotations

import re

from scopes import clock
from scopes.errors import Invalid

MARK_DIGITS = 30  # at least 96 random bits; groups of three digits are one token each, whatever they are
PLACEHOLDER = "0" * MARK_DIGITS  # has as many tokens as every mark that is drawn
_RANDOM_BYTES = 32  # many more bits than the digits have, so that all marks are equally likely
_MARK = re.compile(r"[A-Za-z0-9]{16,64}")


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
    return f"----- recorded {name} {mark} begins -----\n\n", f"----- recorded {name} {mark} ends -----\n"


def fenced(name: str, body: str, mark: str | None = None) -> str:
    """Return a text inside its fence; without a mark, one is drawn.

    Raises:
        Invalid: the text contains the mark.
    """
    chosen = draw_mark(body) if mark is None else mark
    if chosen.lower() in body.lower():
        raise Invalid("the mark occurs in the recorded text", hint="choose another --mark, or leave it out")
    begin, end = fence_lines(name, chosen)
    return f"{begin}{body}{end}"
