"""Text from outside cannot act on a terminal: what would, or what cannot be seen, is shown as visible signs.

The one sanitizer of the project. Every View and every message on standard error applies it, so no caller can forget.
Made visible are the control characters (but tab and newline), everything that changes the direction of writing, line
separators that only some programs know, halves of surrogate pairs, and Unicode's default-ignorable characters: zero
widths, joiners, fillers, tags, variation selectors. Of these one alone is kept where it is meant: the selector of emoji
or text presentation directly after a symbol. Emoji sequences with joiners are taken apart; safety comes first.
"""

from __future__ import annotations

import re

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_DIRECTION_AND_SEPARATORS = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IGNORABLE = (
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNSAFE = re.compile(rf"[{_CONTROL}{_DIRECTION_AND_SEPARATORS}{_IGNORABLE}\ud800-\udfff]")
PRESENTATION = "\ufe0e\ufe0f"
_SYMBOL = re.compile(r"[#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff]")
_BREAKS = re.compile(r"[\t\n]+")


def clean(text: str) -> str:
    """Make everything visible that is no plain text; tabs and newlines stay, CRLF becomes a newline.

    C0 is written as `^[`, DEL as `^?`, everything else as `<U+202E>`.
    """
    if UNSAFE.search(text) is None:
        return text
    return UNSAFE.sub(_sign, text.replace("\r\n", "\n"))


def clean_line(text: str) -> str:
    """Make everything visible that is no plain text, and each run of tabs and newlines one space."""
    if text.isascii() and text.isprintable():  # nearly every cell, in a tenth of the time
        return text
    return _BREAKS.sub(" ", clean(text))


def _sign(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character in PRESENTATION and _SYMBOL.match(found.string, found.start() - 1):
        return character
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"<U+{code:04X}>"
