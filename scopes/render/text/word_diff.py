"""Two texts word by word: what only the first has, what only the second has, and what both have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from scopes.render.colour import Style
from scopes.render.view import Span

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_WORDS = 2000


def compare_words(left: str, right: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return both texts in spans, `bad` and `good` where they differ; long ones differ as a whole."""
    one, two = _WORDS.findall(left), _WORDS.findall(right)
    if len(one) > _MOST_WORDS or len(two) > _MOST_WORDS:
        return (Span(left, "bad"),), (Span(right, "good"),)
    steps = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    ours = tuple(_spans(((one[a:b], tag) for tag, a, b, _, _ in steps), "bad"))
    theirs = tuple(_spans(((two[c:d], tag) for tag, _, _, c, d in steps), "good"))
    return ours, theirs


def _spans(pieces: Iterator[tuple[list[str], str]], style: Style) -> Iterator[Span]:
    for words, tag in pieces:
        if words:
            yield Span("".join(words), "" if tag == "equal" else style)
