"""Look up whether a store has an object, for a process that writes many: most of them are new.

libgit2 reads the directory of packs again for every object that it does not find.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import suppress

from scopes.ids import Oid
from scopes.regular_file import open_regular
from scopes.store.repository import Repository

_FEW_OBJECTS = 5000
_MAGIC = b"\xfftOc\0\0\0\x02"
_COUNTS = struct.Struct(">256I")
_NAMES = len(_MAGIC) + _COUNTS.size
_NAME_BYTES = 20
_FEW_NAMES = 64  # are searched sooner than a smaller part of them is found


class KnownObjects:
    """The packs and the loose objects of a store, listed again whenever a pack is added or removed.

    Only every question of `questions_per_look` looks whether that is so: a look takes longer than all the rest.
    """

    def __init__(self, repository: Repository, *, questions_per_look: int = 1) -> None:
        self._repository = repository
        self._questions_per_look = questions_per_look
        self._questions = 0
        self._packs = os.path.join(repository.path, "objects", "pack")
        self._names: dict[str, PackNames] = {}  # by file name of the index
        self._loose: set[str] | None = None
        self._listed_at = 0

    def has(self, oid: Oid) -> bool:
        """Return True if the store has an object; one that another process has just written may be missed."""
        if self._questions <= 0:
            self._look()
        self._questions -= 1
        if self._loose is None:
            return self._repository.has(oid)
        if oid in self._loose:
            return True
        name = bytes.fromhex(oid)
        for names in self._names.values():  # noqa: SIM110 - a generator takes twice the time, for half of all objects
            if name in names:
                return True
        return False

    def look_again(self) -> None:
        """Look at the next question whether a pack was added or removed."""
        self._questions = 0

    def _look(self) -> None:
        self._questions = self._questions_per_look
        changed = os.stat(self._packs).st_mtime_ns
        if changed != self._listed_at:
            self._loose, self._listed_at = self._list(), changed

    def _list(self) -> set[str] | None:
        """List packs and loose objects; None if libgit2 must be asked: many loose objects, or files of another kind."""
        directory = os.path.dirname(self._packs)
        if os.path.lexists(os.path.join(directory, "info", "alternates")):
            return None
        with suppress(OSError, ValueError):
            found = {name for name in os.listdir(self._packs) if name.endswith(".idx")}
            self._names = {
                name: self._names.get(name) or PackNames(os.path.join(self._packs, name))
                for name in found
                if os.path.isfile(os.path.join(self._packs, f"{name[:-4]}.pack"))
            }
            loose: set[str] = set()
            for start in os.listdir(directory):
                if len(start) == 2 and len(loose) <= _FEW_OBJECTS:
                    loose |= {start + rest for rest in os.listdir(os.path.join(directory, start))}
            return loose if len(loose) <= _FEW_OBJECTS else None
        return None


class PackNames:
    """The names in the index of one pack, which is mapped into memory.

    Raises:
        ValueError: it is damaged, or not of version 2.
        OSError: it cannot be read.
    """

    def __init__(self, path: str) -> None:
        with open_regular(path) as file:
            self._index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if not self._index[: len(_MAGIC)] == _MAGIC or len(self._index) < _NAMES:
            raise ValueError(path)
        self._ends = _COUNTS.unpack_from(self._index, len(_MAGIC))
        if len(self._index) < _NAMES + _NAME_BYTES * self._ends[-1]:
            raise ValueError(path)

    def __contains__(self, name: bytes) -> bool:
        """Return True if the pack has an object with this name of 20 bytes."""
        first = name[0]
        low, high = self._ends[first - 1] if first else 0, self._ends[first]
        if high - low > _FEW_NAMES:
            low, high = self._narrow(name, low, high)
        start, end = _NAMES + _NAME_BYTES * low, _NAMES + _NAME_BYTES * high
        at = self._index.find(name, start, end)
        while at >= 0 and (at - start) % _NAME_BYTES:  # across two names
            at = self._index.find(name, at + 1, end)
        return at >= 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield all names, sorted."""
        for start in range(_NAMES, _NAMES + _NAME_BYTES * self._ends[-1], _NAME_BYTES):
            yield self._index[start : start + _NAME_BYTES]

    def _narrow(self, name: bytes, low: int, high: int) -> tuple[int, int]:
        """Return a part of the names from `low` to `high` that has this name, if any of them is it: hashes are even."""
        guess = low + ((high - low) * int.from_bytes(name[1:3], "big") >> 16)
        first, last = max(low, guess - _FEW_NAMES // 2), min(high, guess + _FEW_NAMES // 2) - 1
        if first > low and name < self._name(first):
            return low, first
        if last < high - 1 and name > self._name(last):
            return last + 1, high
        return first, last + 1

    def _name(self, number: int) -> bytes:
        start = _NAMES + _NAME_BYTES * number
        return self._index[start : start + _NAME_BYTES]
