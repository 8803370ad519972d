"""Read packed objects without libgit2, for a process that reads many of them.

For an object that is stored whole and is what its id says, this takes two thirds of the time of libgit2. Bases of small
deltas are kept, because the trees of messages are deltas of each other after a gc. All else is not found here: large
objects, damaged ones, and packs that libgit2 would refuse or that have come since. The caller asks libgit2 then, whose
answer counts.

The files are mapped into memory. What was touched of them counts as memory of the process, and a walk over a store
touches all of it, so it is given back to the system now and then: the page cache still has it.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from math import isqrt
from typing import Final, TypeAlias

from scopes.loading import load
from scopes.regular_file import open_regular
from scopes.store.objects import BLOB, COMMIT, TAG, TREE
from scopes.store.packs.deltas import NAME_DELTA, OFFSET_DELTA, apply_delta, parse_distance

Inflate: TypeAlias = Callable[[memoryview, int, int], bytes]

MAX_OBJECT_BYTES: Final = 1 << 20  # inflated at once: a damaged entry of 1 MiB can become 1 GiB
_MAGIC: Final = b"\xfftOc\0\0\0\x02"
_COUNTS: Final = struct.Struct(">256I")
_NUMBER: Final = struct.Struct(">I")
_LONG_NUMBER: Final = struct.Struct(">Q")
_NAMES: Final = len(_MAGIC) + _COUNTS.size
_NAME_BYTES: Final = 20
_NUMBER_BYTES: Final = 4
_TRAILER_BYTES: Final = 2 * _NAME_BYTES  # of an index: the checksums of the pack and of the index
_LONG_OFFSET: Final = 0x8000_0000
_PACK_HEADER: Final = struct.Struct(">4sII")
_PACK_VERSIONS: Final = frozenset({2, 3})
_ZLIB_WINDOW: Final = 15
_SMALL_BYTES: Final = 4096  # of the bases that are kept
_WINDOW_BITS: Final = 16  # Linux maps 64 KiB around the page that is read
_ONE_WINDOW: Final = (1 << _WINDOW_BITS) - 1
_MAX_WINDOWS: Final = 256
_HEADERS: Final = {  # by the type in a pack; deltas are not here
    number: (kind, b"%s %%d\0" % kind.encode()) for number, kind in ((1, COMMIT), (2, TREE), (3, BLOB), (4, TAG))
}
_MAX_CHAIN: Final = 60  # deltas of deltas; git makes chains of 50
_MAX_BASES: Final = 1024  # small objects that are kept for each pack
_SHA1: Final = hashlib.sha1(usedforsecurity=False)
_ERRORS: Final = (OSError, ValueError, IndexError, OverflowError, struct.error, zlib.error)


class PackReader:
    """Finds objects in the packs that a directory had at the last `refresh`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._errors: tuple[type[Exception], ...] = (*_ERRORS, _inflater()[1])
        self._packs: dict[str, _Pack | None] = {}  # by file name of the index; None: libgit2 must read it
        self._searched: Sequence[_Pack] = ()
        self._windows: set[int] = set()  # that were touched in any file
        self._next_window = 0
        self.refresh()

    def refresh(self) -> None:
        """Open new packs, and close those that are gone."""
        names: list[str] = []
        with suppress(OSError):
            names = sorted(name for name in os.listdir(self._directory) if name.endswith(".idx"))
        known = self._packs
        self._packs = {name: known[name] if name in known else self._open(name) for name in names}
        self._searched = [pack for pack in self._packs.values() if pack is not None]

    def find(self, oid: str) -> tuple[str, bytes] | None:
        """Return kind and bytes of an object whose SHA-1 is its id; None if libgit2 must be asked."""
        try:
            return self._find(bytes.fromhex(oid))
        except self._errors:
            return None

    def find_blob(self, name: bytes) -> bytes | None:
        """Return the bytes of a blob with this name of 20 bytes; None if libgit2 must be asked."""
        try:
            found = self._find(name)
        except self._errors:
            return None
        return None if found is None or found[0] is not BLOB else found[1]

    def find_first_blob(self, tree: str, start: bytes) -> tuple[bytes, bytes | None]:
        """Return name and bytes of the blob in the first entry of a tree that begins with `start`: its mode and name.

        The bytes are None if the tree begins with something else, or `find` would not find one of them.
        """
        try:
            found = self._find(bytes.fromhex(tree))
        except self._errors:
            return b"", None
        if found is None or found[0] is not TREE or not found[1].startswith(start):
            return b"", None
        name = found[1][len(start) : len(start) + _NAME_BYTES]
        return name, self.find_blob(name)

    def _find(self, name: bytes) -> tuple[str, bytes] | None:
        for pack in self._searched:
            at = pack.find(name)
            if at >= 0:
                if pack is not self._searched[0]:  # the next object is probably there, too
                    self._searched = [pack, *(other for other in self._searched if other is not pack)]
                if len(self._windows) > _MAX_WINDOWS:
                    self._give_back()
                return pack.read(at, name)
        return None

    def _open(self, name: str) -> _Pack | None:
        with suppress(*self._errors):
            pack = _Pack(os.path.join(self._directory, name[:-4]), self._windows, self._next_window)
            self._next_window = pack.end_window
            return pack
        return None

    def _give_back(self) -> None:
        """Give the touched memory of all packs back to the system."""
        for pack in self._searched:
            pack.give_back()
        self._windows.clear()


class _Pack:
    """One pack and its index, both mapped into memory; `path` has no suffix.

    `windows` gets the numbers of those that are touched; `first_window` is that of the index, the pack follows it.

    Raises:
        ValueError, OSError, struct.error, OverflowError: libgit2 would refuse one of them, or has to read it.
    """

    def __init__(self, path: str, windows: set[int], first_window: int) -> None:
        self._index = _map(f"{path}.idx")
        self._pack = _map(f"{path}.pack")
        self._view = memoryview(self._pack)
        self._ends = _COUNTS.unpack_from(self._index, len(_MAGIC))
        count = self._ends[-1]
        self._offsets = _NAMES + (_NAME_BYTES + _NUMBER_BYTES) * count  # behind names and checksums
        self._long_offsets = self._offsets + _NUMBER_BYTES * count
        longest = self._long_offsets + _LONG_NUMBER.size * max(count - 1, 0) + _TRAILER_BYTES
        magic, version, entries = _PACK_HEADER.unpack_from(self._pack)
        if (
            self._index[: len(_MAGIC)] != _MAGIC
            or list(self._ends) != sorted(self._ends)
            or not self._long_offsets + _TRAILER_BYTES <= len(self._index) <= longest
            or magic != b"PACK"
            or version not in _PACK_VERSIONS
            or entries != count
            or self._pack[-_NAME_BYTES:] != self._index[-_TRAILER_BYTES:-_NAME_BYTES]
        ):
            raise ValueError(path)
        self._inflate = _inflater()[0]
        self._bases: dict[int, tuple[int, bytes]] = {}  # by offset
        self._around = isqrt(count >> 8) + 8  # names on each side of the place where one is looked for
        self._windows = windows
        self._index_start = first_window << _WINDOW_BITS
        self._pack_start = self._index_start + len(self._index) + (1 << _WINDOW_BITS)
        self.end_window = (self._pack_start + len(self._pack) >> _WINDOW_BITS) + 1

    def give_back(self) -> None:
        """Give touched memory back to the system; it is read again when it is needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in (self._index, self._pack):
                mapped.madvise(mmap.MADV_DONTNEED)

    def find(self, name: bytes) -> int:
        """Return the offset of an object; -1 if it is not in the pack.

        The names in the index are sorted. Hashes are even, so that a name is near the place where its first bytes would
        be.
        """
        first = name[0]
        low, high = self._ends[first - 1] if first else 0, self._ends[first]
        guess = low + ((high - low) * (name[1] << 8 | name[2]) >> 16)
        end = _NAMES + _NAME_BYTES * (guess + self._around)
        self._windows.add(self._index_start + end >> _WINDOW_BITS)
        at = self._index.find(name, max(_NAMES, end - 2 * _NAME_BYTES * self._around), end)
        number, across = divmod(at - _NAMES, _NAME_BYTES)
        if at < 0 or across:
            number = self._search(name, low, high)
            if number < 0:
                return -1
        offset: int
        (offset,) = _NUMBER.unpack_from(self._index, self._offsets + _NUMBER_BYTES * number)
        if offset >= _LONG_OFFSET:
            place = self._long_offsets + _LONG_NUMBER.size * (offset - _LONG_OFFSET)
            (offset,) = _LONG_NUMBER.unpack_from(self._index, place)
        return offset

    def _search(self, name: bytes, low: int, high: int) -> int:
        while low < high:
            middle = (low + high) // 2
            start = _NAMES + _NAME_BYTES * middle
            found = self._index[start : start + _NAME_BYTES]
            if found == name:
                return middle
            low, high = (middle + 1, high) if found < name else (low, middle)
        return -1

    def read(self, at: int, name: bytes) -> tuple[str, bytes] | None:
        """Return kind and bytes of the object at an offset; None if it is large, damaged or a delta of too many.

        Raises:
            ValueError, IndexError, struct.error, zlib.error, IsalError: it is damaged.
        """
        start, pack = at, self._pack
        byte = pack[at]  # as in `_read_header`: every call counts here, and most objects are no deltas
        size, shift, code = byte & 0x0F, 4, byte >> 4 & 0x07
        at += 1
        while byte & 0x80:
            byte = pack[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
        self._windows.add(self._pack_start + start >> _WINDOW_BITS)
        if code in _HEADERS and size <= _ONE_WINDOW:
            data = self._inflate(self._view[at : at + size + (size >> 7) + 64], _ZLIB_WINDOW, size or 1)
        else:
            found = self._read_any(start)
            if found is None:
                return None
            code, data = found
        kind, header = _HEADERS[code]
        digest = _SHA1.copy()  # sooner done than a new hash
        digest.update(header % len(data))
        digest.update(data)
        return (kind, data) if digest.digest() == name else None

    def _read_header(self, at: int) -> tuple[int, int, int]:
        """Return type and size of the entry at an offset, and the offset behind both."""
        byte = self._pack[at]
        size, shift, code = byte & 0x0F, 4, byte >> 4 & 0x07
        at += 1
        while byte & 0x80:
            byte = self._pack[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
        return code, size, at

    def _read_any(self, at: int) -> tuple[int, bytes] | None:
        """Return type and bytes of the entry at an offset, perhaps a delta; the hash of its bytes is not checked."""
        pack = self._pack
        deltas: list[tuple[int, bytes]] = []
        while at not in self._bases:
            start = at
            code, size, at = self._read_header(at)
            if size > _ONE_WINDOW and not self._touch(start, size):
                return None
            self._windows.add(self._pack_start + start >> _WINDOW_BITS)
            if code in _HEADERS:
                data = self._inflate(self._view[at : at + size + (size >> 7) + 64], _ZLIB_WINDOW, size or 1)
                break
            if code == OFFSET_DELTA:
                distance, at = parse_distance(pack, at)
                below = start - distance if 0 < distance < start else -1
            elif code == NAME_DELTA:
                below = self.find(pack[at : at + _NAME_BYTES])
                at += _NAME_BYTES
            else:
                return None
            if below < 0 or len(deltas) == _MAX_CHAIN:
                return None
            deltas.append((start, self._inflate(self._view[at : at + size + (size >> 7) + 64], _ZLIB_WINDOW, size)))
            at = below
        else:
            code, data = self._bases[at]
        if deltas:
            data = self._apply(code, data, deltas)
        return code, data

    def _touch(self, at: int, size: int) -> bool:
        """Note all windows of a large entry, unless it is too large; `size` is that of its bytes when inflated."""
        if size > MAX_OBJECT_BYTES:
            return False
        first = self._pack_start + at
        self._windows.update(range(first >> _WINDOW_BITS, (first + size >> _WINDOW_BITS) + 1))
        return True

    def _apply(self, code: int, data: bytes, deltas: Sequence[tuple[int, bytes]]) -> bytes:
        """Apply deltas, the last one first, and keep what they lead to."""
        for start, delta in reversed(deltas):
            data = apply_delta(data, delta, MAX_OBJECT_BYTES)
            if len(data) <= _SMALL_BYTES:
                if len(self._bases) >= _MAX_BASES:
                    self._bases.clear()
                self._bases[start] = code, data
        return data


def _map(path: str) -> mmap.mmap:
    with open_regular(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@cache
def _inflater() -> tuple[Inflate, type[Exception]]:
    """Return the function that inflates entries, that of isal if it is installed, and what it raises."""
    try:
        return load("isal.isal_zlib:decompress"), load("isal.igzip_lib:IsalError")
    except ImportError:
        return zlib.decompress, zlib.error
