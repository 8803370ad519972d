"""Which tokens a text can be made of at all, so that an encoding need not be built with all of its 200,000.

Byte pair encoding looks up nothing but parts of the pieces that a text is cut into. The chunks here are never smaller
than those pieces, so every part that can be looked up is a part of a chunk: with the tokens among those alone, a text
is encoded exactly as with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_TOKEN = 128  # bytes
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # what Unicode calls white space
_OTHER = (  # what is neither that nor ASCII
    r"\x80-\x84\x86-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\U0010ffff"
)
_MARK = r"\x00-\x08\x0e-\x1f!-/:-@\[-`{-\x7f"
_CHUNKS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"[^\r\nA-Za-z0-9]?[A-Za-z'{_OTHER}]+",  # a word, with what may stand before it and the contractions after it
        rf" ?[{_MARK}{_OTHER}\r\n]+",
        rf"[0-9{_OTHER}]+",
        rf"[{_SPACE}]+",
    )
)
_MOST_PARTS = 600_000


def chunks_of(text: str) -> set[str]:
    """Return what holds every piece of a text that an encoding may cut it into."""
    return {chunk for pattern in _CHUNKS for chunk in pattern.findall(text)}


def parts_of(chunks: Iterable[str]) -> set[bytes] | None:
    """Return all that can be a token in chunks; None where that is so much that it spares nothing."""
    found: set[bytes] = set()
    made = 0
    for chunk in chunks:
        data = chunk.encode()
        length = len(data)
        made += length * min(length, LONGEST_TOKEN)
        if made > _MOST_PARTS:
            return None
        found.update(
            data[start:end]
            for start in range(length)
            for end in range(start + 1, min(length, start + LONGEST_TOKEN) + 1)
        )
    return found
