"""How many examples a property test draws: a twelfth in an ordinary run, all of them with `TEST_EXAMPLES=all`.

An ordinary run has the same examples every time; a thorough one draws new ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")
MINIMUM = 5
DEFAULT = 100  # hypothesis's own number


def examples(count: int = DEFAULT) -> int:
    """Return the number of examples of a test that is to have `count` of them in a thorough run."""
    return count if is_thorough() else min(count, max(MINIMUM, count // 12))


def spread(values: Sequence[Value], count: int, shift: int) -> list[Value]:
    """Return all values in a thorough run; otherwise `count` of them at equal distances, from position `shift` on.

    Tests that take other positions of the same values cover all of them together, each with some of the values.
    """
    if is_thorough() or len(values) <= count:
        return list(values)
    return [values[(shift + number * len(values) // count) % len(values)] for number in range(count)]


def amount(thorough: int, ordinary: int) -> int:
    """Return how much of something that is repeated a run has, such as commands of a random plan."""
    return thorough if is_thorough() else ordinary


def is_thorough() -> bool:
    """Return True if the run is to be thorough: `TEST_EXAMPLES=all`."""
    return os.environ.get("TEST_EXAMPLES") == "all"


def sample(values: Sequence[Value], count: int) -> list[Value]:
    """Return all values in a thorough run; otherwise `count` of them: the first, the last, and others evenly between."""
    if is_thorough() or len(values) <= count:
        return list(values)
    return [values[round(number * (len(values) - 1) / (count - 1))] for number in range(count)]
