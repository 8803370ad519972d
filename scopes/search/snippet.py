"""The piece of a message's text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from scopes.index.tokenize import FIRST_SINGLE, SINGLE, fold, is_single
from scopes.search.ast import Words

_BEFORE = 40  # characters that are shown before the first match, of a snippet's LENGTH
LENGTH = 240
_LETTER = r"[^\W_]"
_LETTER_BESIDE_SINGLES = rf"[^\W_{SINGLE}]"
_GAP = r"[\W_]+"
_LOOKED_AT = 1_000_000  # characters of a text; beyond them a match is not marked


class Piece(NamedTuple):
    """A stretch of a text; `found` tells whether it is what was searched for."""

    text: str
    found: bool = False


Mark: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Returns where in a text stands what was searched for."""


def mark_words(wanted: Iterable[Words]) -> Mark | None:
    """Return what finds the words of a query; None where it has none."""
    terms = sorted(set(wanted), key=lambda term: (-sum(map(len, term.words)), term))
    return partial(spans_of, terms) if terms else None


def _pattern(terms: Iterable[Words], letter: str) -> re.Pattern[str]:
    return re.compile("|".join([_form(term, letter) for term in terms]))


def _form(term: Words, letter: str) -> str:
    form = ""
    for number, word in enumerate(term.words):
        if number:
            form += r"[\W_]*" if is_single(word) or is_single(term.words[number - 1]) else _GAP
        form += re.escape(word)
    before = "" if is_single(term.words[0]) else f"(?<!{letter})"
    after = "" if term.prefix or is_single(term.words[-1]) else f"(?!{letter})"
    return before + form + after


def cut_snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Piece, ...]:
    """Cut a text around the first of the spans and mark those that are inside; without any, take its beginning."""
    begin = max(0, spans[0][0] - _BEFORE) if spans else 0
    end = min(len(text), begin + LENGTH)
    pieces = [Piece("…")] if begin else []
    at = begin
    for start, stop in spans:
        if start >= end:
            break
        if start > at:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[max(at, start) : min(stop, end)], found=True))
        at = max(at, min(stop, end))
    if at < end:
        pieces.append(Piece(text[at:end]))
    return (*pieces, Piece("…")) if end < len(text) else tuple(pieces)


def spans_of(terms: Sequence[Words], text: str) -> list[tuple[int, int]]:
    """Return where the words of a query stand in a text, as far as a snippet can show them."""
    text = text[:_LOOKED_AT]
    folded = fold(text)
    begin = min((at for at in (folded.find(term.words[0]) for term in terms) if at >= 0), default=None)
    if begin is None:
        return []  # told at a hundredth of what looking for the patterns in a megabyte costs
    pattern = _pattern(terms, _LETTER)
    first = pattern.search(folded, begin)
    if first is None and max(folded) >= FIRST_SINGLE:
        pattern = _pattern(terms, _LETTER_BESIDE_SINGLES)  # a word may end where a script without spaces begins
        first = pattern.search(folded, begin)
    if first is None:
        return []
    found = [match.span() for match in pattern.finditer(folded, first.start(), first.end() + LENGTH)]
    if len(folded) == len(text):
        return found
    places = _places(text)
    return [(places[start], places[stop - 1] + 1) for start, stop in found if stop <= len(places)]


def _places(text: str) -> list[int]:
    """Tell for each character of the folded text which one of the text it came from, as nearly as can be told."""
    return [number for number, character in enumerate(text) for _ in fold(character)]
