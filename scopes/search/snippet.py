"""Excerpts of message text around the first match, with the matches marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from scopes.index.tokenize import FIRST_SINGLE, SINGLE, fold, is_single
from scopes.search.query import Phrase

_BEFORE = 40  # characters of a snippet's LENGTH that precede the first match
LENGTH = 240
_LETTER = r"[^\W_]"
_LETTER_OF_SPACED_SCRIPT = rf"[^\W_{SINGLE}]"
_BLANK = re.compile(r"\s+")
_GAP = r"[\W_]+"
_MAX_SEARCHED = 1_000_000  # characters of a text; matches beyond them are not marked
_OVERLAP = 10_000  # a phrase is shorter


class Piece(NamedTuple):
    """A piece of text; `found` is True if it is a match."""

    text: str
    found: bool = False


SpanFinder: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the spans of the matches in a text, in order."""


def phrase_finder(phrases: Iterable[Phrase]) -> SpanFinder | None:
    """Return a function that finds the phrases of a query in a text; None if there are no phrases."""
    longest_first = sorted(set(phrases), key=lambda phrase: (-sum(map(len, phrase.words)), phrase))
    return partial(find_phrases, longest_first) if longest_first else None


def find_phrases(phrases: Sequence[Phrase], text: str) -> list[tuple[int, int]]:
    """Return the spans of phrases in a text, from the first one as far as a snippet reaches."""
    text = text[:_MAX_SEARCHED]
    folded = fold(text)
    begin = min((at for at in (folded.find(phrase.words[0]) for phrase in phrases) if at >= 0), default=None)
    if begin is None:
        return []  # a hundred times faster than searching a megabyte for the patterns
    pattern = _pattern(phrases, _LETTER)
    first = pattern.search(folded, begin)
    if first is None and max(folded) >= FIRST_SINGLE:
        # A word also ends where a script without spaces begins.
        pattern = _pattern(phrases, _LETTER_OF_SPACED_SCRIPT)
        first = pattern.search(folded, begin)
    if first is None:
        return []
    spans = [match.span() for match in pattern.finditer(folded, first.start(), first.end() + LENGTH)]
    if len(folded) == len(text):
        return spans
    offsets = _original_offsets(text)
    return [(offsets[start], offsets[stop - 1] + 1) for start, stop in spans if stop <= len(offsets)]


def has_phrase(phrase: Phrase, text: str) -> bool:
    """Return True if a text of any length has a phrase."""
    starts = range(0, max(len(text), 1), _MAX_SEARCHED - _OVERLAP)
    return any(find_phrases([phrase], text[start : start + _MAX_SEARCHED]) for start in starts)


def cut_snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Piece, ...]:
    """Cut an excerpt around the first span and mark the spans inside it; without spans it is the text's beginning.

    It begins and ends between words, unless a word is longer than the excerpt.
    """
    begin = max(0, spans[0][0] - _BEFORE) if spans else 0
    end = min(len(text), begin + LENGTH)
    begin, end = _at_words(text, begin, end, spans[0] if spans else (0, 0))
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


def _at_words(text: str, begin: int, end: int, first: tuple[int, int]) -> tuple[int, int]:
    """Move both ends of an excerpt inwards to blanks, as far as the first match stays in it."""
    if begin:
        blank = _BLANK.search(text, begin - 1, first[0])
        begin = begin if blank is None else blank.end()
    if end < len(text):
        blanks = list(_BLANK.finditer(text, max(begin, min(first[1], end)), end + 1))
        end = blanks[-1].start() if blanks and blanks[-1].start() > begin else end
    return begin, end


def _pattern(phrases: Iterable[Phrase], letter: str) -> re.Pattern[str]:
    return re.compile("|".join([_phrase_pattern(phrase, letter) for phrase in phrases]))


def _phrase_pattern(phrase: Phrase, letter: str) -> str:
    pattern = ""
    for number, word in enumerate(phrase.words):
        if number:
            pattern += r"[\W_]*" if is_single(word) or is_single(phrase.words[number - 1]) else _GAP
        pattern += re.escape(word)
    before = "" if is_single(phrase.words[0]) else f"(?<!{letter})"
    after = "" if phrase.prefix or is_single(phrase.words[-1]) else f"(?!{letter})"
    return before + pattern + after


def _original_offsets(text: str) -> list[int]:
    """Return, for each character of the folded text, the offset of the character it came from (approximately)."""
    return [number for number, character in enumerate(text) for _ in fold(character)]
