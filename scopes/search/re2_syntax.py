r"""Writing a regular expression of Python's the way RE2 takes it, or telling that it cannot be said there.

What a pattern means is defined by Python's `re` on text, with ^ and $ at the ends of lines: \w, \d and \b know every
script. RE2 knows ASCII there, so that letters and digits are named by their Unicode categories, which are the very
characters that Python takes for them. What has no such form is said for ASCII texts alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = r"\p{L}\p{N}_"
_BLANK = r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_INSIDE = {"w": _WORD, "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _BLANK, "b": r"\x08"}
_OUTSIDE = {
    "w": f"[{_WORD}]", "W": f"[^{_WORD}]", "d": r"\p{Nd}", "D": r"\P{Nd}", "s": f"[{_BLANK}]", "S": f"[^{_BLANK}]",
    "A": r"\A", "Z": r"\z",
}  # fmt: skip
_FOR_ASCII = {"b": r"\b"}  # in no text there is also a \B for RE2, and none for Python
_SAME = frozenset("afnrtv")
_TOKEN = re.compile(
    r"""\\(?: x(?P<hex>[0-9a-fA-F]{2}) | u(?P<hex4>[0-9a-fA-F]{4}) | U(?P<hex8>[0-9a-fA-F]{8}) | (?P<escape>.) )
    | (?P<upto>\{,(?=[0-9]*\}))
    | \(\?(?P<flags>[ims]+)[:)] | (?P<special>\(\?(?![:P])) | (?P<end>\]) | (?P<begin>\[\^?\]?) | .""",
    re.VERBOSE | re.DOTALL,
)


class Form(NamedTuple):
    """A pattern for RE2; with `ascii_only` it means the same on ASCII texts alone."""

    pattern: str
    ascii_only: bool


class _Unsaid(Exception):
    """RE2 has no form for a part of the pattern."""


def re2_form(pattern: str) -> Form | None:
    """Write a pattern that Python takes for RE2, or return None; what RE2 refuses by itself is left to it."""
    try:
        return _Translation(pattern).form()
    except _Unsaid:
        return None


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._in_class = False
        self._folded = False
        self._ascii_only = False
        self._is_ascii = pattern.isascii()

    def form(self) -> Form:
        """Go through the pattern once."""
        written = "".join([self._written(token) for token in _TOKEN.finditer(self._pattern)])
        # Without regard to case both fold alike in ASCII; beyond it Python takes \u0130 for an i and RE2 does not.
        if self._folded and not self._is_ascii:
            raise _Unsaid
        return Form(f"(?m:{written})", self._ascii_only or self._folded)

    def _written(self, token: re.Match[str]) -> str:
        code = token["hex"] or token["hex4"] or token["hex8"]
        if code:
            self._is_ascii &= int(code, 16) < 128
            return rf"\x{{{code}}}"
        if token["escape"]:
            return self._escaped(token["escape"])
        if self._in_class:
            return self._inside(token)
        if token["upto"]:
            return "{0,"
        if token["special"]:
            raise _Unsaid  # what looks around, takes flags back or has others than RE2
        if token["begin"]:
            self._in_class = True
        self._folded |= "i" in (token["flags"] or "")
        return token[0]

    def _inside(self, token: re.Match[str]) -> str:
        if token["begin"]:
            raise _Unsaid  # [: begins a name there
        if token["end"]:
            self._in_class = False
        return token[0]

    def _escaped(self, character: str) -> str:
        if character in _SAME or not (character.isalnum() or character == "_"):
            return "\\" + character
        known = (_INSIDE if self._in_class else _OUTSIDE).get(character)
        if known is None and not self._in_class:
            known = _FOR_ASCII.get(character)
            self._ascii_only |= known is not None
        if known is None:
            raise _Unsaid
        return known
