"""The lines of a unified diff of two recorded texts, for `range-diff` and `context --diff`, in bounded time."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from itertools import islice

MAX_LINES = 2000  # of each text; difflib needs up to the square of their number


def diff_lines(old: Sequence[str], new: Sequence[str], max_lines: int = MAX_LINES) -> tuple[str, ...]:
    """Return a unified diff without its first two lines.

    The last line says so if the texts were not compared to the end.
    """
    lines = tuple(islice(unified_diff(old[:max_lines], new[:max_lines], lineterm=""), 2, None))
    if max(len(old), len(new)) > max_lines:
        lines += (f"@@ only the first {max_lines:,} lines were compared @@",)
    return lines
