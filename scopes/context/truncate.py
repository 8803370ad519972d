"""Truncate a text so that it fits into a number of tokens."""

from __future__ import annotations

from collections.abc import Callable

from scopes.sanitize import TRUNCATED, cut

_MAX_CHARACTERS_PER_TOKEN = 8  # text almost never has more
_MAX_COUNTS = 12
_GOOD_ENOUGH = 98  # hundredths of the room

Count = Callable[[str], int]


def cut_to_fit(content: str, room: int, count: Count) -> str | None:
    """Return a prefix of a text and the truncation mark, with `count` of both at most `room`; None if nothing fits.

    `count` is called with the prefix and the mark and may add what surrounds them. It is called at most thirteen times,
    so the prefix is close to the longest possible one, not always equal to it.
    """
    low, high = 0, min(len(content), max(room, 1) * _MAX_CHARACTERS_PER_TOKEN)
    if count(_truncated(content, 0)) > room:
        return None
    best, guess = 0, high
    for _ in range(_MAX_COUNTS):
        tokens = count(_truncated(content, guess))
        if tokens <= room:
            low = best = guess
        else:
            high = guess
        if high - low <= 1 or (tokens <= room and tokens * 100 >= room * _GOOD_ENOUGH):
            break
        expected = guess * room // max(tokens, 1)
        guess = expected if low < expected < high and abs(expected - guess) > 1 else (low + high) // 2
    return _truncated(content, best)


def _truncated(content: str, length: int) -> str:
    return f"{cut(content, length).rstrip()}\n{TRUNCATED}" if length else TRUNCATED
