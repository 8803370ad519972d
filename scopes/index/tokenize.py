"""Split texts and queries into words.

A word is a run of letters and digits, compared without regard to case and Unicode compatibility forms (NFKC, case
folding). In scripts without spaces between words, and for symbols such as emoji, each character is a word: a phrase of
them finds any substring.
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
_ARROW = "\u2192"  # after the number of each line of a file that an agent reads: splitting at it is the fastest search
_RUN = re.compile(r"([^\x00-\x7f]+)")
_ASCII_WORD = re.compile(r"[0-9a-z]+")


@cache
def _word() -> re.Pattern[str]:
    """Compile the pattern for non-ASCII texts at its first use: it takes 8 ms."""
    return re.compile(rf"[{SINGLE}]|[^\W_{SINGLE}]+")


def fold(text: str) -> str:
    """Return a text in the form in which words are compared: lower case, compatibility forms replaced."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tokenize(text: str) -> list[str]:
    """Return the words of a text, in order, folded."""
    return (_ASCII_WORD if text.isascii() else _word()).findall(fold(text))


def is_single(word: str) -> bool:
    """Return True if a word is one character of a script without spaces, or a symbol."""
    return len(word) == 1 and any(first <= word <= last for first, last in _RANGES)


def searchable(text: str) -> str:
    """Prepare a text for SQLite's `ascii` tokenizer, which folds and splits ASCII by itself.

    Only other characters are folded, each run by itself, or with the ASCII character before it if an accent follows
    that in any run of the text.
    """
    if text.isascii():
        return text
    try:
        lines = text.split(_ARROW)
        return f" {_ARROW} ".join([line if line.isascii() else _searchable_runs(line) for line in lines])
    except _AccentFollowsError:
        return _searchable_slowly(text)


class _AccentFollowsError(Exception):
    """A run begins with a character that may change the one before it."""


def _searchable_runs(text: str) -> str:
    pieces = _RUN.split(text)  # every second piece is a run
    pieces[1::2] = map(_searchable_alone, pieces[1::2])
    return "".join(pieces)


@lru_cache(maxsize=1000)
def _searchable_alone(run: str) -> str:
    first = unicodedata.normalize("NFKD", run)[:1], fold(run)[:1]
    if any(map(unicodedata.combining, first)):
        raise _AccentFollowsError
    return _searchable_run(run)


def _searchable_slowly(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for run in _BEYOND_ASCII.finditer(text):
        start = max(run.start() - 1, done)
        pieces += (text[done:start], _searchable_run(text[start : run.end()]))
        done = run.end()
    return "".join([*pieces, text[done:]])


@lru_cache(maxsize=1000)
def _searchable_run(run: str) -> str:
    return _BEYOND_ASCII.sub(_split_match, fold(run))


def _split_match(run: re.Match[str]) -> str:
    return _split(run[0])


@lru_cache(maxsize=1000)
def _split(run: str) -> str:
    """Put spaces between the words of non-ASCII text: the tokenizer treats all non-ASCII characters as letters."""
    return "".join([f" {c} " if is_single(c) else c if c.isalnum() else " " for c in run])
