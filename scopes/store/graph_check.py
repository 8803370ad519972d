"""Compare commit graph files with the commits that they describe.

The checksum of a graph says nothing about who wrote it: in a store that was copied from somebody else, a graph can
have other trees, parents or generations than the commits. Each row is compared with its commit, linear in the rows.
"""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.regular_file import read_regular
from scopes.store.commit_graph import MAX_BYTES, NO_PARENT, OID_BYTES, graph_path, read_chunks
from scopes.store.objects import COMMIT, is_hash_of
from scopes.store.repository import Repository

_ROW: Final = struct.Struct(">20sIIII")  # tree, first parent, second parent, generation and high bits of the time, time
_GENERATION: Final = 28  # where the number with the generation is in a row
_NUMBER: Final = struct.Struct(">I")
_LONG: Final = struct.Struct(">Q")
_HIGH_BIT: Final = 0x8000_0000
_MAX_GENERATION: Final = (1 << 30) - 1
_TIME_BITS: Final = (1 << 34) - 1
_COMMITTER: Final = re.compile(rb"\ncommitter [^\n]*> (\d{1,18}) [^\n]*\n")


class _Layer:
    """One file: the whole graph, or a part of a chain; `start` is the number of commits in the files below it."""

    def __init__(self, path: str, data: bytes, start: int) -> None:
        self.data = data
        found = read_chunks(self.data, is_layer=True)
        if found is None:
            raise ValueError(path)
        self.path, self.start, self.chunks = path, start, found
        fanout = struct.unpack_from(">256I", self.data, found[b"OIDF"][0])
        self.size = fanout[-1]
        self.names, self.rows = found[b"OIDL"][0], found[b"CDAT"][0]
        firsts = self.data[self.names : self.names + self.size * OID_BYTES : OID_BYTES]
        if list(firsts) != sorted(firsts) or any(fanout[byte] != bisect_right(firsts, byte) for byte in range(256)):
            raise ValueError(path)
        self.fanout = fanout
        self.is_seen = bytearray(self.size)
        self.is_counted = True  # the graph has generations; git before 2.19 wrote 0 for all

    def name(self, number: int) -> bytes:
        """Return the id of a commit in this file."""
        at = self.names + number * OID_BYTES
        return self.data[at : at + OID_BYTES]

    def find(self, name: bytes) -> int | None:
        """Return the number of a commit in this file; None if it does not have the commit."""
        low = self.names + (self.fanout[name[0] - 1] if name[0] else 0) * OID_BYTES
        high = self.names + self.fanout[name[0]] * OID_BYTES
        at = self.data.find(name, low, high)
        while at >= 0 and (at - self.names) % OID_BYTES:
            at = self.data.find(name, at + 1, high)
        return None if at < 0 else (at - self.names) // OID_BYTES

    def row(self, number: int) -> tuple[bytes, int, int, int, int]:
        """Return what the file says about a commit: tree, two positions of parents, generation, time."""
        tree, first, second, high, low = _ROW.unpack_from(self.data, self.rows + number * _ROW.size)
        return tree, first, second, high >> 2, (high & 3) << 32 | low

    def list_parents(self, first: int, second: int) -> list[int]:
        """Return the positions of the parents of a row; raise ValueError if the list of further parents is cut off."""
        if not second & _HIGH_BIT:
            return [position for position in (first, second) if position != NO_PARENT]
        found, (at, end) = [first], self.chunks.get(b"EDGE", (0, 0))
        at += (second ^ _HIGH_BIT) * _NUMBER.size
        while at + _NUMBER.size <= end:
            (position,) = _NUMBER.unpack_from(self.data, at)
            found.append(position & ~_HIGH_BIT)
            if position & _HIGH_BIT:
                return found
            at += _NUMBER.size
        raise ValueError(at)

    def find_offset(self, number: int) -> int | None:
        """Return by how much the corrected date is later than the time of a commit; None if the file has no such."""
        start, end = self.chunks.get(b"GDA2", (0, 0))
        if start + (number + 1) * _NUMBER.size > end:
            return None
        offset: int = _NUMBER.unpack_from(self.data, start + number * _NUMBER.size)[0]
        if not offset & _HIGH_BIT:
            return offset
        start, end = self.chunks.get(b"GDO2", (0, 0))
        at = start + (offset ^ _HIGH_BIT) * _LONG.size
        if at + _LONG.size > end:
            raise ValueError(number)
        return int(_LONG.unpack_from(self.data, at)[0])


class GraphCheck:
    """Compares the graphs of a repository with commits that the caller has read, and reads the others.

    `problems` is what was found, by the path of the file in the store; at most one for each file. `whole` are the bytes
    of the only file to compare, if given. If `strict` is set, a row of a commit that is missing or damaged is wrong:
    the commit could come later, and the row be believed unseen. Otherwise that is another defect.
    """

    def __init__(self, repository: Repository, whole: bytes | None = None, *, strict: bool = False) -> None:
        self._repository = repository
        self.store = repository.path
        self.problems: dict[str, str] = {}
        self._graphs: list[list[_Layer]] = []
        self._strict = strict
        objects = os.path.join(repository.path, "objects")
        for paths in list_graphs(objects) if whole is None else [[graph_path(objects)]]:
            layers: list[_Layer] = []
            for path in paths:
                try:
                    data = read_regular(path, MAX_BYTES) if whole is None else whole
                    layers.append(_Layer(path, data, sum(layer.size for layer in layers)))
                except (OSError, ValueError, KeyError, struct.error):
                    self._report(path, "it is not a commit graph as git writes it")
                    break
            is_counted = any(layer.row(number)[3] for layer in layers for number in range(layer.size))
            for layer in layers:
                layer.is_counted = is_counted
            self._graphs.append(layers)

    def see(self, oid: Oid, data: bytes) -> None:
        """Compare a commit that was read, and whose hash is right, with all graphs that have it."""
        name = bytes.fromhex(oid)
        for layers in self._graphs:
            for layer in layers:
                number = layer.find(name)
                if number is not None and not layer.is_seen[number]:
                    layer.is_seen[number] = True
                    self._compare(layers, layer, number, data)

    def finish(self) -> dict[str, str]:
        """Read and compare the commits that were not seen; return the problems by file."""
        for layers in self._graphs:
            for layer in layers:
                number = layer.is_seen.find(0)
                while number >= 0 and not self._is_reported(layer):
                    layer.is_seen[number] = True
                    oid = Oid(layer.name(number).hex())
                    data = self._read(oid)
                    if data is not None:
                        self._compare(layers, layer, number, data)
                    elif self._strict:
                        self._report(layer.path, f"it has commit {oid}, which is missing or damaged")
                    number = layer.is_seen.find(0, number)
        return self.problems

    def _read(self, oid: Oid) -> bytes | None:
        try:
            kind, data = self._repository.read(oid)
        except ScopesError:
            return None
        return data if kind == COMMIT and is_hash_of(oid, kind, data) else None

    def _report(self, path: str, problem: str) -> None:
        self.problems.setdefault(os.path.relpath(path, self._repository.path), problem)

    def _is_reported(self, layer: _Layer) -> bool:
        return bool(self.problems) and os.path.relpath(layer.path, self._repository.path) in self.problems

    def _compare(self, layers: list[_Layer], layer: _Layer, number: int, data: bytes) -> None:
        if _is_plainly_right(layer, number, data):
            return
        try:
            wrong = _find_difference(layers, layer, number, data)
        except (ValueError, IndexError, struct.error):
            wrong = "parents"
        if wrong is not None:
            self._report(layer.path, f"it disagrees with commit {layer.name(number).hex()} about its {wrong}")


def _is_plainly_right(layer: _Layer, number: int, data: bytes) -> bool:
    """Return True if a row of one parent in the same file is right; False says nothing. Nearly all rows are such."""
    tree, first, second, high, low = _ROW.unpack_from(layer.data, layer.rows + number * _ROW.size)
    if layer.start or second != NO_PARENT or first >= layer.size or b"GDA2" in layer.chunks:
        return False
    at = layer.names + first * OID_BYTES
    if not data.startswith(f"tree {tree.hex()}\nparent {layer.data[at : at + OID_BYTES].hex()}\nauthor ".encode()):
        return False
    (below,) = _NUMBER.unpack_from(layer.data, layer.rows + first * _ROW.size + _GENERATION)
    if high >> 2 != (below >> 2) + 1:
        return False
    committer = _COMMITTER.search(data)
    return committer is not None and int(committer[1]) == ((high & 3) << 32 | low)


def _find_difference(layers: list[_Layer], layer: _Layer, number: int, data: bytes) -> str | None:
    """Return what a row of a graph says otherwise than the commit; None if both agree."""
    tree, first, second, generation, time = layer.row(number)
    header = b"tree %s\n" % tree.hex().encode()
    if not data.startswith(header):
        return "tree"
    parents = [_locate(layers, position) for position in layer.list_parents(first, second)]
    header += b"".join(b"parent %s\n" % above.name(at).hex().encode() for above, at in parents)
    if not data.startswith(header) or data.startswith(b"parent ", len(header)):
        return "parents"
    generations = [above.row(at)[3] for above, at in parents]
    if layer.is_counted and generation != min(1 + max(generations, default=0), _MAX_GENERATION):
        return "generation"
    committer = _COMMITTER.search(data)
    if committer is not None and int(committer[1]) & _TIME_BITS != time:
        return "time"
    date = _corrected_date(layer, number)
    dates = [_corrected_date(above, at) for above, at in parents]
    return None if date is None or all(other is None or other < date for other in dates) else "corrected date"


def _corrected_date(layer: _Layer, number: int) -> int | None:
    offset = layer.find_offset(number)
    return None if offset is None else layer.row(number)[4] + offset


def _locate(layers: list[_Layer], position: int) -> tuple[_Layer, int]:
    """Return the file that has a position of the whole graph, and the number there."""
    for layer in layers:
        if layer.start <= position < layer.start + layer.size:
            return layer, position - layer.start
    raise ValueError(position)


def list_graphs(objects: str) -> list[list[str]]:
    """Return the files of each graph of a directory of objects: the single file, and the chain from its base on."""
    whole = graph_path(objects)
    chain = os.path.join(objects, "info", "commit-graphs")
    found = [[whole]] if os.path.lexists(whole) else []
    try:
        names = read_regular(os.path.join(chain, "commit-graph-chain"), MAX_BYTES).decode("ascii").split()
    except (OSError, ValueError):
        return found
    return [
        *found,
        [os.path.join(chain, f"graph-{name}.graph") for name in names if re.fullmatch("[0-9a-f]{40}", name)],
    ]


def find_problem(repository: Repository, data: bytes) -> str | None:
    """Return what is wrong with the bytes of a commit graph, None if all rows agree with commits in the store."""
    return next(iter(GraphCheck(repository, data, strict=True).finish().values()), None)


def list_wrong_files(repository: Repository, *, strict: bool = False) -> Iterator[str]:
    """Yield the paths in the store of the files that must go: those that are wrong, and the whole chain with one."""
    problems = GraphCheck(repository, strict=strict).finish()
    for paths in list_graphs(os.path.join(repository.path, "objects")):
        names = [os.path.relpath(path, repository.path) for path in paths]
        if any(name in problems for name in names):
            if os.path.basename(os.path.dirname(names[0])) == "commit-graphs":
                yield os.path.join(os.path.dirname(names[0]), "commit-graph-chain")  # first: it names the others
            yield from (name for name, path in zip(names, paths, strict=True) if os.path.lexists(path))
