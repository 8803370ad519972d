"""How many examples a property test draws: an eighth in an ordinary run, all of them with `TEST_EXAMPLES=all`.

The examples are drawn anew in every run, so an eighth of them in each of many runs finds what all of them find in one.
"""

from __future__ import annotations

import os

MINIMUM = 5
DEFAULT = 100  # hypothesis's own number


def examples(count: int = DEFAULT) -> int:
    """Return the number of examples of a test that is to have `count` of them in a thorough run."""
    return count if is_thorough() else min(count, max(MINIMUM, count // 8))


def is_thorough() -> bool:
    """Return True if the run is to be thorough: `TEST_EXAMPLES=all`."""
    return os.environ.get("TEST_EXAMPLES") == "all"
