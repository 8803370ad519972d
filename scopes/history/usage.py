"""Add up the token counts that model providers reported, as recorded in messages. Nothing is estimated here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from scopes.model.message import Message


class Tokens(NamedTuple):
    """The tokens of some answers; None for a count that none of them recorded.

    Input is uncached, read from a cache or written to it. `output` includes `reasoning`, as providers count it.
    """

    answers: int = 0
    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None

    @property
    def input(self) -> int | None:
        """All input tokens, cached or not; None if unknown."""
        known = [count for count in (self.input_uncached, self.cache_read, self.cache_write) if count is not None]
        return sum(known) if known else None

    def plus(self, other: Self) -> Self:
        """Return the sum; unknown counts are left out."""
        sums = (left if right is None else right + (left or 0) for left, right in zip(self[1:], other[1:], strict=True))
        return type(self)(self.answers + other.answers, *sums)


def tokens_of(message: Message) -> Tokens | None:
    """Return the recorded tokens of a message; None if it has none."""
    usage = message.extra.get("usage")
    if not isinstance(usage, Mapping):
        return None
    counts = [count_of(usage.get(name)) for name in Tokens._fields[1:]]
    return Tokens(1, *counts) if any(count is not None for count in counts) else None


def count_of(value: object) -> int | None:
    """Return a recorded count; None if the value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def add_up(tokens: Iterable[Tokens]) -> Tokens | None:
    """Return the sum; None if there is nothing to add."""
    total: Tokens | None = None
    for each in tokens:
        total = each if total is None else total.plus(each)
    return total
