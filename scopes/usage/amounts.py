"""Counts of tokens, and what they are grouped by. It imports nothing of the store, because a status line is quick."""

from __future__ import annotations

from typing import Final, NamedTuple

QUARTER_SECONDS: Final = 900  # every time zone begins its days at a quarter of an hour
SIZES: Final = (0, 100_000, 128_000, 200_000, 272_000, 512_000)  # tokens of input above which some prices differ
INCOMPLETE: Final = -1  # the size of answers of which only input or only output is known: they have no price


class Amounts(NamedTuple):
    """Counts of answers and of their tokens; a count that no answer recorded is 0.

    input: neither read from a cache nor written to one
    cache_write: all tokens written to a cache; cache_write_1h: those of them that are kept for an hour
    output: all tokens of output; reasoning: those of them that are reasoning
    """

    answers: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def all_input(self) -> int:
        """All tokens of input, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def tokens(self) -> int:
        """All tokens, of input and output."""
        return self.all_input + self.output


class Group(NamedTuple):
    """What answers are grouped by.

    quarter: the number of the quarter of an hour since 1970; None if no time is known
    agent: the program; sub-agents, which have names of their own, count for it
    size: the largest of SIZES that the tokens of input exceed, or INCOMPLETE
    """

    quarter: int | None
    model: str | None
    agent: str
    size: int


def plus(left: Amounts | None, right: Amounts) -> Amounts:
    """Return the sum of two amounts; None is nothing."""
    return right if left is None else Amounts._make(map(int.__add__, left, right))
