"""Conditions that the index cannot evaluate: regular expressions, and the AND, OR and NOT around them.

Parts of a query without a regular expression are evaluated by the index (`Candidate.tests`) and come first, so that a
message is read only if they leave it open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from scopes.index.schema import COLUMNS
from scopes.search.query import Phrase
from scopes.search.regex import Matcher
from scopes.search.snippet import has_phrase


class Texts(NamedTuple):
    """The texts of a message, one per column.

    is_masked: they are not those that the index has
    masked_fields: fields whose values are not, either
    """

    texts: Sequence[str]
    is_masked: bool = False
    masked_fields: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    """A message to test: the results of the index tests, and a function that reads its texts."""

    tests: Sequence[bool]
    read: Callable[[], Texts]


Predicate: TypeAlias = Callable[[Candidate], bool]
"""Returns True if a message matches."""


class Pattern(NamedTuple):
    """A regular expression and the columns it is searched in; no columns means all."""

    find: Matcher
    columns: tuple[str, ...]


def index_test(number: int) -> Predicate:
    """Return a predicate: the index test of this number passed."""
    return lambda candidate: bool(candidate.tests[number])


def phrase_test(number: int, phrase: Phrase, columns: Sequence[str]) -> Predicate:
    """Return a predicate: the index test of this number passed; of a masked message, its texts have the phrase."""
    searched = _numbers(columns)

    def test(candidate: Candidate) -> bool:
        shown = candidate.read()
        if shown.is_masked:
            return any(has_phrase(phrase, shown.texts[each]) for each in searched)
        return bool(candidate.tests[number])

    return test


def field_test(number: int, name: str) -> Predicate:
    """Return a predicate: the index test of this number passed, and the value of this field is shown as it is."""
    return lambda candidate: bool(candidate.tests[number]) and name not in candidate.read().masked_fields


def matches(pattern: Pattern) -> Predicate:
    """Return a predicate: the pattern matches in one of its columns."""
    columns = _numbers(pattern.columns)

    def test(candidate: Candidate) -> bool:
        texts = candidate.read().texts
        return any(pattern.find(texts[number]) is not None for number in columns)

    return test


def _numbers(columns: Sequence[str]) -> list[int]:
    return [number for number, column in enumerate(COLUMNS) if column in (columns or COLUMNS)]


def negate(predicate: Predicate) -> Predicate:
    """Return the negation of a predicate."""
    return lambda candidate: not predicate(candidate)


def all_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the conjunction of predicates, evaluated in order."""
    return lambda candidate: all(predicate(candidate) for predicate in predicates)


def any_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the disjunction of predicates, evaluated in order."""
    return lambda candidate: any(predicate(candidate) for predicate in predicates)
