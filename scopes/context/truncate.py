"""Making a text fit: the longest beginning of it that a number of tokens has room for."""

from __future__ import annotations

from collections.abc import Callable

from scopes.sanitize import TRUNCATED

_CHARACTERS_A_TOKEN = 8  # more than text has nearly ever
_TRIES = 12


def cut_to_fit(content: str, room: int, count: Callable[[str], int]) -> str | None:
    """Return the beginning of a text with a mark, so that `count` of that is at most `room`; None when nothing fits.

    `count` takes the marked text and may add what goes around it. The longest fitting beginning is approached, by
    asking at most twelve times, not found to the letter.
    """
    low, high = 0, min(len(content), max(room, 1) * _CHARACTERS_A_TOKEN)
    if count(_marked(content, 0)) > room:
        return None
    best, guess = 0, high
    for _ in range(_TRIES):
        tokens = count(_marked(content, guess))
        if tokens <= room:
            low = best = guess
        else:
            high = guess
        if high - low <= 1 or (tokens <= room and tokens * 100 >= room * 98):
            break
        expected = guess * room // max(tokens, 1)
        guess = expected if low < expected < high and abs(expected - guess) > 1 else (low + high) // 2
    return _marked(content, best)


def _marked(content: str, length: int) -> str:
    return f"{content[:length].rstrip()}\n{TRUNCATED}" if length else TRUNCATED
