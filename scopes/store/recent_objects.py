"""The small objects that a repository read or wrote last, so that a tree or commit is read from disk once.

An object never changes, so that a copy in memory is as good as the one on disk; `verify` and `repair` read the disk.
The cache of `packs/writer` differs: it has objects that are not in the store yet, of any size, and drops blobs first.
"""

from __future__ import annotations

from collections.abc import Callable

from scopes.ids import Oid

MAX_OBJECT_BYTES = 16 * 1024
MAX_BYTES = 4 * 1024 * 1024
_OVERHEAD_BYTES = 300  # of the id, the tuple and the entry of the dict


class RecentObjects:
    """Kind and bytes of objects by id; when there are more than `max_bytes`, the older half is dropped.

    `find` returns kind and bytes of an object, None if it is not in memory; it is a method of a dict, because every
    read of an object calls it. With `keeps_packed` objects that are written into packs are kept too.
    """

    find: Callable[[Oid], tuple[str, bytes] | None]

    def __init__(self, max_bytes: int = MAX_BYTES, *, keeps_packed: bool = False) -> None:
        self.keeps_packed = keeps_packed
        self._max_bytes = self._bytes_left = max_bytes
        self._objects: dict[Oid, tuple[str, bytes]] = {}
        self.find = self._objects.get

    def clear(self) -> None:
        """Drop all objects."""
        self._objects.clear()
        self._bytes_left = self._max_bytes

    def add(self, oid: Oid, found: tuple[str, bytes]) -> None:
        """Keep an object unless it is large."""
        size = len(found[1])
        if size > MAX_OBJECT_BYTES or oid in self._objects:
            return
        self._objects[oid] = found
        self._bytes_left -= size + _OVERHEAD_BYTES
        if self._bytes_left < 0:
            self._drop_older_half()

    def _drop_older_half(self) -> None:
        """Drop objects until half of the bytes are left; one by one would be slow, with a dict's deleted entries."""
        objects = self._objects
        for oid in list(objects):
            self._bytes_left += len(objects.pop(oid)[1]) + _OVERHEAD_BYTES
            if self._bytes_left >= self._max_bytes // 2:
                break
