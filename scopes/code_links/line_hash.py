"""The hash of a line by which edits and commits are compared: 8 bytes of SHA-256 of its words.

Blanks do not count, because formatters change them. Lines without a hash are too short to tell where they are from:
`}`, `return nil`, `import os`.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

MIN_CHARACTERS: Final = 12
MIN_ALPHANUMERIC: Final = 8
MAX_CHARACTERS: Final = 2000  # of minified files and data: only the beginning counts


def normalize_line(line: str) -> str:
    """Return a line without outer blanks, with one blank between words."""
    return " ".join(line[:MAX_CHARACTERS].split())


def hash_line(line: str) -> int | None:
    """Return the hash of a line as a signed number of 64 bits, as SQLite has them; None for a line that is too short.

    At least 12 characters and 8 letters or digits are needed.
    """
    text = normalize_line(line)
    if len(text) < MIN_CHARACTERS or sum(map(str.isalnum, text)) < MIN_ALPHANUMERIC:
        return None
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def salt_of(base_name: str) -> int:
    """Return a number that is combined with the hash of a line by XOR: equal lines of other files are then no hits."""
    digest = sha256(b"file " + base_name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def hash_lines(lines: Iterable[str]) -> set[int]:
    """Return the hashes of those lines that have one."""
    return {value for line in lines if (value := hash_line(line)) is not None}
