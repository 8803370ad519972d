"""The checksum at the end of the files that git derives: it finds damage, and says nothing about the author."""

from __future__ import annotations

import hashlib
import os

_BLOCK_BYTES = 1 << 20
_CHECKSUM_BYTES = 20


def ends_with_own_hash(path: str) -> bool:
    """Return True if a file ends with the SHA-1 of all bytes before, as packs, indexes and commit graphs do.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha1(usedforsecurity=False)
    left = os.path.getsize(path) - _CHECKSUM_BYTES
    with open(path, "rb") as file:
        while left > 0:
            block = file.read(min(left, _BLOCK_BYTES))
            if not block:
                return False
            digest.update(block)
            left -= len(block)
        return file.read() == digest.digest()
