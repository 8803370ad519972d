"""Read the fields of a protobuf message without its schema (protobuf.dev/programming-guides/encoding).

A library for this needs the schema, or guesses one; of Cursor's messages only the numbers of a few fields are known.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_WIDTHS = {_FIXED_64: 8, _FIXED_32: 4}
_MAX_SHIFT = 63
_MAX_DEPTH = 12


def read_fields(data: bytes) -> list[tuple[int, bytes]] | None:
    """Return the numbers and contents of the fields that are bytes, texts or messages; None if it is no message."""
    found, at = [], 0
    try:
        while at < len(data):
            key, at = _read_varint(data, at)
            number, kind = key >> 3, key & 7
            if kind == _VARINT:
                _, at = _read_varint(data, at)
                continue
            width, at = _read_varint(data, at) if kind == _BYTES else (_WIDTHS[kind], at)
            if not number or at + width > len(data):
                return None
            if kind == _BYTES:
                found.append((number, data[at : at + width]))
            at += width
    except (IndexError, KeyError):
        return None
    return found


def walk_contents(data: bytes, depth: int = 0) -> Iterator[bytes]:
    """Yield the contents of all fields, and of those in messages in them, in their order."""
    for _, content in read_fields(data) or ():
        yield content
        if depth < _MAX_DEPTH:
            yield from walk_contents(content, depth + 1)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > _MAX_SHIFT:
            raise IndexError(at)
