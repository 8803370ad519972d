"""Which lines of a file in the working tree are in its last commit, and where; the others are not committed yet.

Git is not asked: to read a working tree it runs the filters that the repository's configuration names.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

MAX_COMPARED: Final = 20_000  # lines of the changed part; comparing takes quadratic time


def split_lines(data: bytes) -> list[str]:
    """Return the lines of a file without their ends; bytes that are not UTF-8 are replaced."""
    return (
        [line.removesuffix("\r") for line in data.decode("utf-8", "replace").removesuffix("\n").split("\n")]
        if data
        else []
    )


def map_lines(working: Sequence[str], committed: Sequence[str]) -> dict[int, int]:
    """Return the line numbers in the commit by those in the working tree, of the lines that are equal in both."""
    start = 0
    while start < min(len(working), len(committed)) and working[start] == committed[start]:
        start += 1
    end = 0
    while end < min(len(working), len(committed)) - start and working[-1 - end] == committed[-1 - end]:
        end += 1
    pairs = {number: number for number in range(1, start + 1)}
    pairs |= {len(working) - number: len(committed) - number for number in range(end)}
    own, old = working[start : len(working) - end], committed[start : len(committed) - end]
    if max(len(own), len(old)) <= MAX_COMPARED:
        for block in SequenceMatcher(None, old, own, autojunk=False).get_matching_blocks():
            pairs |= {start + block.b + n + 1: start + block.a + n + 1 for n in range(block.size)}
    return pairs
