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
    return None if _is_short(text) else _hash(text)


def hash_short(line: str) -> int | None:
    """Return the hash of a line that is too short to tell where it is from, with a letter or digit: `MAX = 5`.

    Who has the lines around it wrote it only if it has this one too. None for other lines: `}` is everywhere.
    """
    text = normalize_line(line)
    return _hash(text) if _is_short(text) and not is_blank(text) else None


def is_blank(line: str) -> bool:
    """Return True if a line has no letter or digit: `}` is in every edit, so nothing tells who wrote it."""
    return not any(map(str.isalnum, line[:MAX_CHARACTERS]))


def _is_short(text: str) -> bool:
    return len(text) < MIN_CHARACTERS or sum(map(str.isalnum, text)) < MIN_ALPHANUMERIC


def _hash(text: str) -> int:
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def salt_of(base_name: str) -> int:
    """Return a number that is combined with the hash of a line by XOR: equal lines of other files are then no hits."""
    digest = sha256(b"file " + base_name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def hash_lines(lines: Iterable[str]) -> set[int]:
    """Return the hashes of those lines that have one."""
    return {value for line in lines if (value := hash_line(line)) is not None}
