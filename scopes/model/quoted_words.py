"""Split a text into words as `shlex.split` does, in linear time; that adds one character after the other to a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    import re

# No piece can be read in two ways, and none is given back: the time is linear.
_WORD: Final = compile_lazily(r"""(?s)(?:[^ \t\r\n'"\\]++|'[^']*+'|"(?:[^"\\]|\\.)*+"|\\.)++""")
_PIECE: Final = compile_lazily(
    r"""(?s)(?P<plain>[^'"\\]++)|'(?P<single>[^']*+)'|"(?P<double>(?:[^"\\]|\\.)*+)"|\\(?P<one>.)"""
)
_ESCAPE: Final = compile_lazily(r"""\\(["\\])""")
_BLANKS: Final = " \t\r\n"


def split_quoted(text: str) -> list[str]:
    """Return the words of a text; quotes and backslashes have the meaning that they have for `shlex.split`.

    Raises:
        ValueError: a quote is not closed, or nothing follows a backslash.
    """
    words = []
    end = 0
    for word in _WORD.finditer(text):
        if text[end : word.start()].strip(_BLANKS):
            break
        words.append(_PIECE.sub(_unquote, word[0]))
        end = word.end()
    if text[end:].strip(_BLANKS):
        raise ValueError("a quote is not closed")
    return words


def _unquote(piece: re.Match[str]) -> str:
    if piece["double"] is not None:
        return _ESCAPE.sub(r"\1", piece["double"])
    return piece["plain"] or piece["single"] or piece["one"] or ""
