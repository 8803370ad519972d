"""Apply the deltas of packs (git's format document `gitformat-pack`); nothing here reads files."""

from __future__ import annotations

import mmap
from typing import Final

OFFSET_DELTA: Final = 6  # types of entries: the base is so many bytes before the entry
NAME_DELTA: Final = 7  # the base is named
_DEFAULT_COPY: Final = 0x10000  # a size of 0 in a copy


def parse_distance(data: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    """Parse how far before an entry its base is; return that and the position behind it.

    Raises:
        IndexError: the bytes end within it.
    """
    byte = data[at]
    distance = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        distance = (distance + 1) << 7 | byte & 0x7F
    return distance, at + 1


def apply_delta(base: bytes, delta: bytes, limit: int) -> bytes:
    """Return the object that a delta makes of its base, of at most `limit` bytes.

    Raises:
        ValueError, IndexError: the delta does not fit the base, or the object is larger.
    """
    base_size, at = _parse_size(delta, 0)
    size, at = _parse_size(delta, at)
    if base_size != len(base) or size > limit:
        raise ValueError("the delta is of another base, or its result is too large")
    parts: list[bytes] = []
    left, end = size, len(delta)
    while at < end:
        code = delta[at]
        at += 1
        if code & 0x80:
            start, length, at = _parse_copy(delta, at, code)
            part = base[start : start + length]
        else:
            length = code
            part = delta[at : at + length]
            at += length
        left -= length
        if len(part) != length or not length or left < 0:
            raise ValueError("the delta is damaged")
        parts.append(part)
    if left:
        raise ValueError("the delta is damaged")
    return b"".join(parts)


def _parse_size(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    size, shift = byte & 0x7F, 7
    while byte & 0x80:
        at += 1
        byte = data[at]
        size |= (byte & 0x7F) << shift
        shift += 7
    return size, at + 1


def _parse_copy(delta: bytes, at: int, code: int) -> tuple[int, int, int]:
    """Parse a copy from the base; return its start, its length and the position behind it."""
    start = length = 0
    for shift in (0, 8, 16, 24):
        if code & 1:
            start |= delta[at] << shift
            at += 1
        code >>= 1
    for shift in (0, 8, 16):
        if code & 1:
            length |= delta[at] << shift
            at += 1
        code >>= 1
    return start, length or _DEFAULT_COPY, at
