"""What a word is, the same for the texts that are searched and for the queries that search them.

A word is a run of letters and digits, compared without regard to case and to the compatibility forms of Unicode (NFKC,
case folding). Scripts that put no spaces between words, and symbols such as emoji, count one character a word: a
phrase of them finds any substring.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
    "\u2190-\u23ff\u2500-\u2bff\U0001f000-\U0001faff"  # arrows, technical signs, shapes, emoji
)
FIRST_SINGLE = SINGLE[0]
_RANGES = tuple(zip(SINGLE[::3], SINGLE[2::3], strict=True))
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_ASCII_WORD = re.compile(r"[0-9a-z]+")


@cache
def _word() -> re.Pattern[str]:
    """Compile what only texts beyond ASCII need: so large a set of characters takes 8 ms."""
    return re.compile(rf"[{SINGLE}]|[^\W_{SINGLE}]+")


def fold(text: str) -> str:
    """Return a text in the form in which words are compared."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tokenize(text: str) -> list[str]:
    """Return the words of a text, in order, folded."""
    return (_ASCII_WORD if text.isascii() else _word()).findall(fold(text))


def is_single(word: str) -> bool:
    """Tell whether a word is a character of a script without spaces, so that nothing parts it from its neighbours."""
    return len(word) == 1 and any(first <= word <= last for first, last in _RANGES)


def searchable(text: str) -> str:
    """Return a text whose words SQLite's `ascii` tokenizer finds: it folds and splits plain ASCII by itself."""
    return text if text.isascii() else _BEYOND_ASCII.sub(_parted, fold(text))


def _parted(run: re.Match[str]) -> str:
    return _part(run[0])


@lru_cache(maxsize=1000)
def _part(run: str) -> str:
    """Put blanks where the words of a run of characters end: the tokenizer takes all beyond ASCII for letters."""
    return "".join([f" {c} " if is_single(c) else c if c.isalnum() else " " for c in run])
