"""Sizes of packed objects, read from a few bytes of each; a delta can expand a thousandfold and more.

libgit2 reads the header of a damaged delta beyond the end of its buffer, up to a crash of the process. Nothing here
trusts the files: what cannot be read has size 0, and the read of the object that follows reports the damage.
"""

from __future__ import annotations

import math
import os
import zlib
from bisect import bisect_left
from contextlib import suppress
from functools import cached_property

from scopes.regular_file import check_regular, read_regular

_MAGIC = b"\xfftOc\0\0\0\x02"
_NAMES = len(_MAGIC) + 256 * 4
_NAME_BYTES = 20
_LARGE = 1 << 31  # an offset above is the number of an 8-byte offset
_OFS_DELTA, _REF_DELTA = 6, 7
_ENTRY_BYTES = 160  # of an entry: its header, where its base is, and enough of a delta for two sizes
_DELTA_BYTES = 20
_MAX_INDEX_BYTES = 1 << 32
_MAX_CHAIN = 4096
_MAX_KNOWN = 100_000


class PackSizes:
    """Looks up sizes in the packs that a directory has at the first question."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    @cached_property
    def _packs(self) -> list[_Pack]:
        packs: list[_Pack] = []
        with suppress(OSError):
            for name in sorted(os.listdir(self._directory)):
                if name.endswith(".idx"):
                    with suppress(OSError):
                        packs.append(_Pack(os.path.join(self._directory, name[:-4])))
        return packs

    def largest(self, oid: str) -> int:
        """Return the size in bytes of the largest object that libgit2 makes to read this one: itself and its bases."""
        name = bytes.fromhex(oid)
        largest = 0
        for pack in self._packs:
            largest = max(largest, pack.largest(name))
        return largest

    def close(self) -> None:
        """Close the packs."""
        for pack in self.__dict__.pop("_packs", ()):
            pack.close()


class _Pack:
    """One pack with its index; `path` has no suffix."""

    def __init__(self, path: str) -> None:
        index = read_regular(f"{path}.idx", _MAX_INDEX_BYTES)
        self._index = index if index.startswith(_MAGIC) else b""
        self._count = self._number(_NAMES - 4, 4)
        self._ends = [min(self._number(at, 4), self._count) for at in range(len(_MAGIC), _NAMES, 4)]  # by first byte
        self._names = _Names(self._index)
        self._known: dict[int, int] = {}  # of the bases of deltas, by offset
        check_regular(f"{path}.pack")
        self._file = os.open(f"{path}.pack", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self._file)

    def largest(self, name: bytes) -> int:
        """Return the largest size on the way from an object to its last base; 0 if it is not in this pack."""
        offset = self._offset_of(name)
        passed: list[tuple[int, int]] = []
        while offset is not None and offset not in self._known and len(passed) < _MAX_CHAIN:
            try:
                size, base = _read_entry(os.pread(self._file, _ENTRY_BYTES, offset))
            except (OSError, OverflowError, IndexError, zlib.error):
                size, base = 0, None
            passed.append((offset, size))
            offset = self._base_offset(offset, base)
        largest = 0 if offset is None else self._known.get(offset, 0)
        for place, size in reversed(passed[1:]):
            self._known[place] = largest = max(largest, size)
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        return max(largest, passed[0][1]) if passed else largest

    def _base_offset(self, offset: int, base: int | bytes | None) -> int | None:
        if base is None:
            return None
        return max(offset - base, 0) if isinstance(base, int) else self._offset_of(base)

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._index[at : at + size], "big")

    def _offset_of(self, name: bytes) -> int | None:
        position = self._position_of(name)
        if position is None:
            return None
        offsets = _NAMES + self._count * (_NAME_BYTES + 4)
        offset = self._number(offsets + position * 4, 4)
        return self._number(offsets + self._count * 4 + (offset - _LARGE) * 8, 8) if offset >= _LARGE else offset

    def _position_of(self, name: bytes) -> int | None:
        """Return the position of a name among the sorted names; None if it is not there.

        Names are hashes: nineteen of twenty are found near the position that their value gives, if the index is intact.
        """
        first, end = self._ends[name[0] - 1] if name[0] else 0, self._ends[name[0]]
        count = end - first
        distance = math.isqrt(max(count, 0)) + 1
        nearest = first + (int.from_bytes(name[1:4], "big") * count >> 24)
        start = _NAMES + max(nearest - distance, first) * _NAME_BYTES
        found = self._index.find(name, start, start + 2 * distance * _NAME_BYTES)
        position, rest = divmod(found - _NAMES, _NAME_BYTES)
        if found >= 0 and not rest and position < end:
            return position
        position = bisect_left(self._names, name, first, max(first, end))
        return position if position < end and self._names[position] == name else None


class _Names:
    """The sorted names in the index of a pack."""

    def __init__(self, index: bytes) -> None:
        self._index = index

    def __getitem__(self, position: int) -> bytes:
        start = _NAMES + position * _NAME_BYTES
        return self._index[start : start + _NAME_BYTES]

    def __len__(self) -> int:
        return (len(self._index) - _NAMES) // _NAME_BYTES


def _read_entry(entry: bytes) -> tuple[int, int | bytes | None]:
    """Return the larger of the sizes of an object and its base, and the base: None, its distance or its name.

    Raises:
        IndexError, zlib.error: the entry is damaged.
    """
    kind, size, shift, at = entry[0] >> 4 & 7, entry[0] & 15, 4, 1
    while entry[at - 1] & 128:
        size |= (entry[at] & 127) << shift
        shift, at = shift + 7, at + 1
    if kind not in (_OFS_DELTA, _REF_DELTA):
        return size, None
    base: int | bytes
    if kind == _REF_DELTA:
        base, at = entry[at : at + _NAME_BYTES], at + _NAME_BYTES
    else:
        base = entry[at] & 127
        while entry[at] & 128:
            at += 1
            base = (base + 1) << 7 | entry[at] & 127
        at += 1
    delta = zlib.decompressobj().decompress(entry[at:], _DELTA_BYTES)
    base_size, at = _read_varint(delta, 0)
    return max(base_size, _read_varint(delta, at)[0]), base


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 128:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
    return value | data[at] << shift, at + 1
