"""Expand braces as bash does: `{a,b}c` is `ac bc`, `{1..3}` is `1 2 3`.

Braces, commas and pairs of dots without quotes are marked by characters for private use, so that quoted ones stay.
"""

from __future__ import annotations

import re
from typing import Final

from scopes.lazy_patterns import compile_lazily

MAX_WORDS: Final = 200  # that one word becomes
MAX_TEXT: Final = 2000  # characters of a word with braces
_MAX_DEPTH: Final = 100  # of groups in groups, or one after another
_MAX_SEQUENCE: Final = 40  # characters of `1..3`
_OPEN, _COMMA, _CLOSE, _DOTS = "\ue000", "\ue001", "\ue002", "\ue003"
_MARKS: Final = {"{": _OPEN, ",": _COMMA, "}": _CLOSE, "..": _DOTS}
_BARE: Final = compile_lazily(r"\\(?:\n|(.))|(\.\.|[{},])", re.DOTALL)
_MARK: Final = compile_lazily(f"[{_OPEN}{_COMMA}{_CLOSE}{_DOTS}]")
_NUMBERS: Final = compile_lazily(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")
_LETTERS: Final = compile_lazily(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?")


def mark_braces(source: str) -> str:
    """Return a text without quotes as a shell reads it: without backslashes; braces, commas and `..` are marked."""
    return _BARE.sub(lambda match: _MARKS[match[2]] if match[2] else match[1] or "", source)


def unmark_braces(text: str) -> str:
    """Return a text with what was marked in the place of the marks."""
    return text.translate({ord(mark): char for char, mark in _MARKS.items()})


def expand_braces(text: str) -> list[str] | None:
    """Return the texts that a marked text becomes; None if they are too many, or nested too deeply."""
    if len(text) > MAX_TEXT:
        return None
    try:
        return [unmark_braces(each) for each in _expand(text, _MAX_DEPTH)]
    except _TooMany:
        return None


class _TooMany(Exception):
    """A text becomes more words than are read."""


def _expand(text: str, depth: int) -> list[str]:
    """Expand the first group of a text and what follows it, by the rules of bash's `brace_expand`."""
    if not depth:
        raise _TooMany
    found = _find_group(text)
    if found is None:
        return [text]
    start, end = found
    inner, rest = text[start + 1 : end], _expand(text[end + 1 :], depth - 1)
    if _COMMA in inner:
        items = [each for item in _split_items(inner) for each in _expand(item, depth - 1)]
    else:
        items = _read_sequence(inner) or [text[start : end + 1]]
    if len(items) * len(rest) > MAX_WORDS:
        raise _TooMany
    return [text[:start] + item + each for item in items for each in rest]


def _find_group(text: str) -> tuple[int, int] | None:
    """Return the positions of the first brace that has a partner, and of its partner; None if there is none.

    A partner closes a group with a comma or two dots outside of inner groups; others are passed over.
    """
    start = text.find(_OPEN, 1 if text.startswith(_OPEN + _CLOSE) else 0)
    while start >= 0:
        level, is_group = 0, False
        for match in _MARK.finditer(text, start + 1):
            mark = match[0]
            if mark == _OPEN:
                level += 1
            elif mark == _CLOSE:
                if not level and is_group:
                    return start, match.start()
                level -= level > 0
            elif not level:
                is_group = is_group or mark == _COMMA or not text.startswith(_CLOSE, match.end())
        start = text.find(_OPEN, start + 1)
    return None


def _split_items(inner: str) -> list[str]:
    """Split the text of a group at the commas outside of inner groups."""
    items, begin, level = [], 0, 0
    for match in _MARK.finditer(inner):
        if match[0] == _OPEN:
            level += 1
        elif match[0] == _CLOSE:
            level -= level > 0
        elif match[0] == _COMMA and not level:
            items.append(inner[begin : match.start()])
            begin = match.end()
    return [*items, inner[begin:]]


def _read_sequence(inner: str) -> list[str] | None:
    """Return the words of `1..3` or `a..c`; None if it is no sequence."""
    if len(inner) > _MAX_SEQUENCE:
        return None
    inner = unmark_braces(inner)
    if match := _NUMBERS.fullmatch(inner):
        first, last, step = int(match[1]), int(match[2]), abs(int(match[3] or 1)) or 1
        width = max(len(match[1]), len(match[2])) if re.match(r"-?0\d", match[1]) or re.match(r"-?0\d", match[2]) else 0
        return [f"{number:0{width}d}" for number in _between(first, last, step)]
    if match := _LETTERS.fullmatch(inner):
        return [chr(code) for code in _between(ord(match[1]), ord(match[2]), abs(int(match[3] or 1)) or 1)]
    return None


def _between(first: int, last: int, step: int) -> range:
    """Return the numbers of a sequence, no more than one above the limit."""
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return numbers[: MAX_WORDS + 1]
