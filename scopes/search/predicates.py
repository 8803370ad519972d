"""Conditions that the index cannot evaluate: regular expressions, and the AND, OR and NOT around them.

Parts of a query without a regular expression are evaluated by the index (`Candidate.tests`) and come first, so that a
message is read only if they leave it open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from scopes.index.schema import COLUMNS
from scopes.search.regex import Matcher


class Candidate(NamedTuple):
    """A message to test: the results of the index tests, and a function that reads its texts, one per column."""

    tests: Sequence[bool]
    read: Callable[[], Sequence[str]]


Predicate: TypeAlias = Callable[[Candidate], bool]
"""Returns True if a message matches; raises TooSlow."""


class Pattern(NamedTuple):
    """A regular expression and the columns it is searched in; no columns means all."""

    find: Matcher
    columns: tuple[str, ...]


def index_test(number: int) -> Predicate:
    """Return a predicate: the index test of this number passed."""
    return lambda candidate: bool(candidate.tests[number])


def matches(pattern: Pattern) -> Predicate:
    """Return a predicate: the pattern matches in one of its columns."""
    columns = [number for number, column in enumerate(COLUMNS) if column in (pattern.columns or COLUMNS)]

    def test(candidate: Candidate) -> bool:
        texts = candidate.read()
        return any(pattern.find(texts[number]) is not None for number in columns)

    return test


def negate(predicate: Predicate) -> Predicate:
    """Return the negation of a predicate."""
    return lambda candidate: not predicate(candidate)


def all_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the conjunction of predicates, evaluated in order."""
    return lambda candidate: all(predicate(candidate) for predicate in predicates)


def any_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the disjunction of predicates, evaluated in order."""
    return lambda candidate: any(predicate(candidate) for predicate in predicates)
