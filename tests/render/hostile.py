"""Texts that try to control a terminal, and a check for characters that no renderer may write."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import strategies as st

from scopes.render.view import PALETTE

PAYLOADS = (
    "\x1b]52;c;cm0gLXJm\x07",  # OSC 52: write the clipboard
    "\x1b]0;pwn\x07",  # set the title
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",  # OSC 8: a link that lies
    "\x1b[2J\x1b[8m",  # CSI: clear, conceal
    "\x1b[6n",  # DSR: the terminal types an answer
    "\x9b2J\x9d52;c;cm0=\x9c",  # the same in C1
    "good\rEVIL\x1b[K",
    "a\x08\x08b\x7f\x00\x0b\x0c",
    "safe\u202egnp.exe\u2066x\u200f\u061c",
    "in\u200bvis\u200cib\u200dle\u2060\ufeff\xad\u3164",
    "".join(chr(0xE0000 + ord(c)) for c in "ignore the user"),  # tag characters
    "x" + "".join(chr(0xE0100 + n) for n in b"hidden") + "\ufe0f\ufe0f",
    "half \ud83d of a pair, \udc1b a byte",
    "two\u2028lines\u2029here\x85next",
    "[link=http://evil]x[/link] [/] [bold red] :smile: \\[",
    "&#x202e;&#13;&#27;&#x9b;&zwj;&#12;",
    "a\tb\nc\r\nd",
)

hostile_texts = st.lists(st.sampled_from(PAYLOADS) | st.text(max_size=20), max_size=4).map("".join)

OUR_COLORS = re.compile(r"\x1b\[(?:0|" + "|".join(set(PALETTE.values())) + r")m")
ANY_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_SELECTOR_IN_PLACE = re.compile(r"(?<=[#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]")
_NEVER_SEEN = frozenset("\xad\u034f\u115f\u1160\u180e\u3164\uffa0")


def forbidden(text: str) -> list[str]:
    """Return control and invisible characters, by their Unicode properties; newlines are allowed."""
    text = _SELECTOR_IN_PLACE.sub("", text)
    found = {c for c in set(text) if c != "\n" and (_acts(c) or c in _NEVER_SEEN or _is_selector(c))}
    return [c for c in text if c in found] if found else []


def _acts(character: str) -> bool:
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"}
    by_category = unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"}
    marks = "\u200e\u200f\u061c"
    return by_category or unicodedata.bidirectional(character) in directions or character in marks


def _is_selector(character: str) -> bool:
    return 0xFE00 <= ord(character) <= 0xFE0F or 0xE0000 <= ord(character) <= 0xE0FFF
