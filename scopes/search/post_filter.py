"""What no index can tell of a message: whether regular expressions fit it, and what follows for the whole query.

Where a pattern stands under NOT or OR, every message is asked in turn. The parts of the query without one are asked of
the index first, so that a message is only read where they leave it open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from scopes.index.schema import COLUMNS
from scopes.search.regex import Find


class Candidate(NamedTuple):
    """A message that may be a hit: what the index told of it, test by test, and what reads its text by column."""

    told: Sequence[bool]
    read: Callable[[], Sequence[str]]


Sift: TypeAlias = Callable[[Candidate], bool]
"""Tells whether a message fits; raises TooSlow."""


class Pattern(NamedTuple):
    """A regular expression and the columns that it is looked for in; without any in all."""

    find: Find
    columns: tuple[str, ...]


def index_test(test: int) -> Sift:
    """Fit what the index said yes to."""
    return lambda candidate: bool(candidate.told[test])


def matches(pattern: Pattern) -> Sift:
    """Fit what has a place for a pattern."""
    chosen = [number for number, column in enumerate(COLUMNS) if column in (pattern.columns or COLUMNS)]

    def sift(candidate: Candidate) -> bool:
        texts = candidate.read()
        return any(pattern.find(texts[number]) is not None for number in chosen)

    return sift


def negate(sift: Sift) -> Sift:
    """Fit what something else does not."""
    return lambda candidate: not sift(candidate)


def all_of(sifts: Sequence[Sift]) -> Sift:
    """Fit what all of these do, asked in order."""
    return lambda candidate: all(sift(candidate) for sift in sifts)


def any_of(sifts: Sequence[Sift]) -> Sift:
    """Fit what one of these does, asked in order."""
    return lambda candidate: any(sift(candidate) for sift in sifts)
