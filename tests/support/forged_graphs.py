"""Forge commit graph files: change a row of a commit and write the right checksum, as a hostile author would."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable

from scopes.ids import Oid

Change = Callable[["GraphFile", Oid], None]


class GraphFile:
    """A commit graph file whose rows can be changed."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        rows = [struct.unpack_from(">4sQ", self.data, 8 + 12 * number) for number in range(self.data[6])]
        self.places = dict(rows)
        count = struct.unpack_from(">256I", self.data, self.places[b"OIDF"])[-1]
        start = self.places[b"OIDL"]
        self.oids = [Oid(self.data[at : at + 20].hex()) for at in range(start, start + 20 * count, 20)]

    def row(self, oid: Oid) -> int:
        """Return where the row of a commit begins: tree, two parents, generation and time."""
        return self.places[b"CDAT"] + 36 * self.oids.index(oid)

    def set(self, oid: Oid, column: int, value: int) -> None:
        """Set a number of a row; `column` counts bytes."""
        struct.pack_into(">I", self.data, self.row(oid) + column, value)

    def get(self, oid: Oid, column: int) -> int:
        """Return a number of a row."""
        return int(struct.unpack_from(">I", self.data, self.row(oid) + column)[0])

    def swap_trees(self, one: Oid, two: Oid) -> None:
        """Give each of two commits the tree of the other."""
        first, second = self.row(one), self.row(two)
        trees = self.data[first : first + 20], self.data[second : second + 20]
        self.data[second : second + 20], self.data[first : first + 20] = trees

    def set_parent(self, oid: Oid, parent: Oid) -> None:
        """Set the first parent, and a generation above all others, so that the order of generations is right."""
        self.set(oid, 20, self.oids.index(parent))
        self.set(oid, 28, self.get(oid, 28) + (50 << 2))

    def save(self) -> None:
        """Write the file with the checksum of its content."""
        body = bytes(self.data[:-20])
        os.unlink(self.path)  # git makes it read-only
        with open(self.path, "wb") as file:
            file.write(body + hashlib.sha1(body, usedforsecurity=False).digest())
