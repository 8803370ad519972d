r"""Translation of Python regular expressions to RE2 syntax with the same meaning, where there is one.

Patterns mean what they mean to Python's `re` on `str` with MULTILINE: \w, \d, \s and \b are Unicode-aware. RE2's are
ASCII only, so they are written as classes of Unicode categories that hold exactly Python's characters. A construct
without such a form (\b, ignoring case) makes the translation valid for ASCII texts only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = r"\p{L}\p{N}_"
_SPACE = r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_IN_CLASS = {"w": _WORD, "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE, "b": r"\x08"}
_OUTSIDE_CLASS = {
    "w": f"[{_WORD}]", "W": f"[^{_WORD}]", "d": r"\p{Nd}", "D": r"\P{Nd}", "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]",
    "A": r"\A", "Z": r"\z",
}  # fmt: skip
_ASCII_ONLY = {"b": r"\b"}  # not \B: on the empty string RE2 matches it and Python does not
_UNCHANGED = frozenset("afnrtv")
_TOKEN = re.compile(
    r"""\\(?: x(?P<hex>[0-9a-fA-F]{2}) | u(?P<hex4>[0-9a-fA-F]{4}) | U(?P<hex8>[0-9a-fA-F]{8}) | (?P<escape>.) )
    | (?P<upto>\{,(?=[0-9]*\}))
    | \(\?(?P<flags>[ims]+)[:)] | (?P<special>\(\?(?![:P])) | (?P<end>\]) | (?P<begin>\[\^?\]?) | .""",
    re.VERBOSE | re.DOTALL,
)


class Re2Pattern(NamedTuple):
    """A pattern in RE2 syntax; with `ascii_only` it means the same as Python's on ASCII texts only."""

    pattern: str
    ascii_only: bool


class _Untranslatable(Exception):
    """RE2 has no equivalent of a part of the pattern."""


def translate_to_re2(pattern: str) -> Re2Pattern | None:
    """Translate a valid Python pattern; None if RE2 has no equivalent.

    A construct that RE2 itself rejects is passed through, so compiling the result may still fail.
    """
    try:
        return _Translator(pattern).translate()
    except _Untranslatable:
        return None


class _Translator:
    """Rewrites one pattern token by token."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._in_class = False
        self._ignores_case = False
        self._ascii_only = False
        self._is_ascii = pattern.isascii()

    def translate(self) -> Re2Pattern:
        translated = "".join([self._token(token) for token in _TOKEN.finditer(self._pattern)])
        # Ignoring case, both engines agree on ASCII only: Python matches \u0130 with i, RE2 does not.
        if self._ignores_case and not self._is_ascii:
            raise _Untranslatable
        return Re2Pattern(f"(?m:{translated})", self._ascii_only or self._ignores_case)

    def _token(self, token: re.Match[str]) -> str:
        code = token["hex"] or token["hex4"] or token["hex8"]
        if code:
            self._is_ascii &= int(code, 16) < 128
            return rf"\x{{{code}}}"
        if token["escape"]:
            return self._escape(token["escape"])
        if self._in_class:
            return self._in_class_token(token)
        if token["upto"]:
            return "{0,"
        if token["special"]:
            raise _Untranslatable  # lookaround, removed flags, or flags that RE2 lacks
        if token["begin"]:
            self._in_class = True
        self._ignores_case |= "i" in (token["flags"] or "")
        return token[0]

    def _in_class_token(self, token: re.Match[str]) -> str:
        if token["begin"]:
            raise _Untranslatable  # [: would begin a POSIX class name
        if token["end"]:
            self._in_class = False
        return token[0]

    def _escape(self, character: str) -> str:
        if character in _UNCHANGED or not (character.isalnum() or character == "_"):
            return "\\" + character
        translated = (_IN_CLASS if self._in_class else _OUTSIDE_CLASS).get(character)
        if translated is None and not self._in_class:
            translated = _ASCII_ONLY.get(character)
            self._ascii_only |= translated is not None
        if translated is None:
            raise _Untranslatable
        return translated
