"""Expand braces as bash does: `{a,b}c` is `ac bc`, `{1..3}` is `1 2 3`.

Braces and commas without quotes are marked by characters for private use, so that quoted ones stay.
"""

from __future__ import annotations

import re
from typing import Final

from scopes.loading import compile_lazily

MAX_WORDS: Final = 200  # that one word becomes
MAX_TEXT: Final = 2000  # characters of a word with braces
_MAX_SEQUENCE: Final = 40  # characters of `1..3`
_OPEN, _COMMA, _CLOSE = "\ue000", "\ue001", "\ue002"
_MARKS: Final = {"{": _OPEN, ",": _COMMA, "}": _CLOSE}
_BARE: Final = compile_lazily(r"\\(?:\n|(.))|([{},])", re.DOTALL)
_MARK: Final = compile_lazily(f"[{_OPEN}{_COMMA}{_CLOSE}]")
_NUMBERS: Final = compile_lazily(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")
_LETTERS: Final = compile_lazily(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?")


def mark_braces(source: str) -> str:
    """Return a text without quotes as a shell reads it: backslashes removed, braces and commas marked."""
    return _BARE.sub(lambda match: _MARKS[match[2]] if match[2] else match[1] or "", source)


def unmark_braces(text: str) -> str:
    """Return a text with braces and commas in the place of the marks."""
    return text.translate({ord(mark): char for char, mark in _MARKS.items()})


def expand_braces(text: str) -> list[str] | None:
    """Return the texts that a marked text becomes; None if they are too many."""
    if len(text) > MAX_TEXT:
        return None
    pending = [text]
    done: list[str] = []
    while pending:
        if len(pending) + len(done) > MAX_WORDS:
            return None
        rest = pending.pop()
        found = _find_group(rest)
        if found is None:
            done.append(unmark_braces(rest))
            continue
        start, items, end = found
        if len(items) > MAX_WORDS:
            return None
        pending += [rest[:start] + item + rest[end:] for item in reversed(items)]
    return done


def _find_group(text: str) -> tuple[int, list[str], int] | None:
    """Return start, items and end of the first group that has several items; None if there is none."""
    opened: list[tuple[int, list[int]]] = []
    groups = []
    for match in _MARK.finditer(text):
        if match[0] == _OPEN:
            opened.append((match.start(), []))
        elif match[0] == _COMMA and opened:
            opened[-1][1].append(match.start())
        elif match[0] == _CLOSE and opened:
            start, commas = opened.pop()
            if commas or match.start() - start < _MAX_SEQUENCE:
                groups.append((start, commas, match.start()))
    for start, commas, end in sorted(groups):
        items = _items_of(text[start + 1 : end], [comma - start - 1 for comma in commas])
        if items is not None:
            return start, items, end + 1
    return None


def _items_of(inner: str, commas: list[int]) -> list[str] | None:
    if commas:
        starts, ends = [0, *(comma + 1 for comma in commas)], [*commas, len(inner)]
        return [inner[start:end] for start, end in zip(starts, ends, strict=True)]
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
