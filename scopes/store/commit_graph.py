"""Read git's commit graph (`objects/info/commit-graph`): parents and trees of commits without reading the commits.

libgit2 also reads this file, but a walk through its interface makes an object for each commit. Commits that were made
after the last gc are not in the file; what cannot be answered from it is None, and the caller reads the commits. The
checksum is verified, so that a damaged file is the same as a missing one.
"""

from __future__ import annotations

import hashlib
import os
import struct
from heapq import heapify, heappop, heappush
from itertools import pairwise

from scopes.ids import Oid
from scopes.regular_file import read_regular

MAX_BYTES = 1 << 30
_HEADER = struct.Struct(">4sBBBB")  # magic, version, version of the hash, chunks, base graphs
_CHUNK = struct.Struct(">4sQ")
_COMMIT = struct.Struct(">20xIII4x")  # first parent, second parent, order
OID_BYTES = 20
NO_PARENT = 0x7000_0000
_MANY_PARENTS = 0x8000_0000  # the second parent is a position in a list of further parents
_LOWEST_ORDER = 4  # a generation above two bits of the time: greater than that of the parents; below, it is unknown
_FIRST, _SECOND, _COMMON = 1, 2, 4  # bits of the painted commits: reached from the one, the other, a common ancestor


class CommitGraph:
    """An open commit graph; a commit is a position in it, in the order of the ids."""

    def __init__(self, data: bytes, chunks: dict[bytes, tuple[int, int]]) -> None:
        self.data = data
        self._fanout = struct.unpack_from(">256I", data, chunks[b"OIDF"][0])
        self._names = chunks[b"OIDL"][0]
        self._commits = memoryview(data)[slice(*chunks[b"CDAT"])]
        self._trees = chunks[b"CDAT"][0]

    @property
    def checksum(self) -> str:
        """The SHA-1 of the content, which is right."""
        return self.data[-OID_BYTES:].hex()

    def position(self, oid: Oid) -> int | None:
        """Return the position of a commit; None if the graph does not have it."""
        name = bytes.fromhex(oid)
        low, high = self._fanout[name[0] - 1] if name[0] else 0, self._fanout[name[0]]
        at = self.data.find(name, self._names + low * OID_BYTES, self._names + high * OID_BYTES)
        while at >= 0 and (at - self._names) % OID_BYTES:
            at = self.data.find(name, at + 1, self._names + high * OID_BYTES)
        return None if at < 0 else (at - self._names) // OID_BYTES

    def find_tree(self, oid: Oid) -> Oid | None:
        """Return the id of the tree of a commit; None if the graph does not have the commit."""
        position = self.position(oid)
        if position is None:
            return None
        start = self._trees + position * _COMMIT.size
        return Oid(self.data[start : start + OID_BYTES].hex())

    def oid(self, position: int) -> Oid:
        """Return the id of the commit at a position."""
        start = self._names + position * OID_BYTES
        return Oid(self.data[start : start + OID_BYTES].hex())

    def list_merge_bases(self, one: int, two: int) -> list[int] | None:
        """Return all merge bases of two commits; None if the graph cannot tell."""
        try:
            meeting = self._follow_lines(one, two)
            return self._paint(one, two) if meeting is None else [meeting]
        except (ValueError, IndexError, struct.error):
            return None

    def _follow_lines(self, one: int, two: int) -> int | None:
        """Return where two histories meet, if both are linear down to there; otherwise None."""
        read, commits, size = _COMMIT.unpack_from, self._commits, _COMMIT.size
        parent_of_one, second_of_one, order_of_one = read(commits, one * size)
        parent_of_two, second_of_two, order_of_two = read(commits, two * size)
        while one != two:
            if order_of_one > order_of_two:
                if second_of_one != NO_PARENT or parent_of_one == NO_PARENT:
                    return None
                one, child = parent_of_one, order_of_one
                parent_of_one, second_of_one, order_of_one = read(commits, one * size)
                _check_order(child, order_of_one)
            else:
                if second_of_two != NO_PARENT or parent_of_two == NO_PARENT:
                    return None
                two, child = parent_of_two, order_of_two
                parent_of_two, second_of_two, order_of_two = read(commits, two * size)
                _check_order(child, order_of_two)
        return one

    def _paint(self, one: int, two: int) -> list[int] | None:
        """Paint both histories, children before their parents; return the common ancestors that no other one reaches.

        None if there is a merge of more than two parents, which scopes never writes.
        """
        colors = bytearray(self._fanout[-1])
        colors[one] |= _FIRST
        colors[two] |= _SECOND
        heap = [(-self._read(position)[2], position) for position in {one, two}]
        heapify(heap)
        found: list[int] = []
        undecided = len(heap)  # commits in the heap that are not below a common ancestor
        while undecided:
            order, position = heappop(heap)
            color = colors[position]
            undecided -= not color & _COMMON
            if color == _FIRST | _SECOND:
                found.append(position)
                color |= _COMMON
            first, second, _ = self._read(position)
            if second & _MANY_PARENTS:
                return None
            for parent in (first, second):
                if parent == NO_PARENT:
                    continue
                painted = colors[parent]
                if not painted:
                    order_of_parent = self._read(parent)[2]
                    _check_order(-order, order_of_parent)
                    heappush(heap, (-order_of_parent, parent))
                    undecided += not color & _COMMON
                elif color & _COMMON and not painted & _COMMON:
                    undecided -= 1
                colors[parent] = painted | color
        return found

    def _read(self, position: int) -> tuple[int, int, int]:
        """Return both parents and the order of a commit."""
        return _COMMIT.unpack_from(self._commits, position * _COMMIT.size)


def graph_path(objects: str) -> str:
    """Return the path of the commit graph of a directory of objects."""
    return os.path.join(objects, "info", "commit-graph")


def read_commit_graph(objects: str) -> CommitGraph | None:
    """Read the commit graph of a directory of objects; None if there is none that can be used."""
    try:
        data = read_regular(graph_path(objects), MAX_BYTES)
        places = read_chunks(data)
        return None if places is None else CommitGraph(data, places)
    except (OSError, struct.error, KeyError):
        return None


def read_chunks(data: bytes, *, is_layer: bool = False) -> dict[bytes, tuple[int, int]] | None:
    """Return the places of the chunks of a graph; None if it is damaged, or `is_layer` is false and it is one.

    Raises:
        struct.error, KeyError: the file is damaged.
    """
    magic, version, hash_version, chunks, bases = _HEADER.unpack_from(data)
    if (magic, version, hash_version) != (b"CGPH", 1, 1) or (bases and not is_layer):
        return None
    rows = [_CHUNK.unpack_from(data, _HEADER.size + number * _CHUNK.size) for number in range(chunks + 1)]
    places = {name: (start, end) for (name, start), (_, end) in pairwise(rows)}
    return places if _fits(data, places) else None


def _fits(data: bytes, places: dict[bytes, tuple[int, int]]) -> bool:
    """Return True if the chunks are as long as the number of commits demands, and the checksum is right."""
    body = memoryview(data)[:-OID_BYTES]
    start, end = places[b"OIDF"]
    if end - start != 1024 or end > len(body):
        return False
    fanout = struct.unpack_from(">256I", data, start)
    sizes = {b"OIDL": fanout[-1] * OID_BYTES, b"CDAT": fanout[-1] * _COMMIT.size}
    return (
        all(places[name][1] - places[name][0] == size and places[name][1] <= len(body) for name, size in sizes.items())
        and list(fanout) == sorted(fanout)
        and hashlib.sha1(body, usedforsecurity=False).digest() == data[-OID_BYTES:]
    )


def _check_order(child: int, parent: int) -> None:
    """Raise ValueError if a parent is not of an earlier generation than its child, or the generation is unknown."""
    if not _LOWEST_ORDER <= parent < child:
        raise ValueError(parent)
