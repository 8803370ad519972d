"""What the model's provider counted: tokens as messages record them, added up. Nothing is estimated here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from scopes.model.message import Message


class Tokens(NamedTuple):
    """Tokens of some answers; None is what none of them recorded. Input is uncached, or read from or put in a cache.

    `output` includes the `reasoning`, as providers count it.
    """

    answers: int = 0
    input_uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None

    @property
    def input(self) -> int | None:
        """All that was sent to the model, cached or not."""
        known = [count for count in (self.input_uncached, self.cache_read, self.cache_write) if count is not None]
        return sum(known) if known else None

    def plus(self, other: Self) -> Self:
        """Add what is known."""
        sums = (left if right is None else right + (left or 0) for left, right in zip(self[1:], other[1:], strict=True))
        return type(self)(self.answers + other.answers, *sums)


def tokens_of(message: Message) -> Tokens | None:
    """Read what an answer cost; None where it does not say."""
    usage = message.extra.get("usage")
    if not isinstance(usage, Mapping):
        return None
    counts = [_count(usage.get(name)) for name in Tokens._fields[1:]]
    return Tokens(1, *counts) if any(count is not None for count in counts) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def add_up(tokens: Iterable[Tokens]) -> Tokens | None:
    """Add several up; None where there are none."""
    total: Tokens | None = None
    for each in tokens:
        total = each if total is None else total.plus(each)
    return total
