"""Read very many objects, each of them once: from the packs, without the copies that `Repository.read` keeps.

libgit2 reads packs in two thirds of the time without its object database, which has a cache, hashes slowly, and makes
a member of an enumeration for each object. The hash is compared here instead.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scopes.ids import Oid
from scopes.loading import load
from scopes.store.commit_graph import CommitGraph, graph_path
from scopes.store.libgit2 import pygit2
from scopes.store.loose import CODES
from scopes.store.objects import BLOB, COMMIT, TREE, parse_tree_id
from scopes.store.repository import Repository, read_data

if TYPE_CHECKING:
    from scopes.store.packs.reader import PackReader

_ERRORS: Final = (KeyError, ValueError, pygit2.GitError)
_KEPT_SIZE: Final = 1024
_GRAPH_BYTES: Final = 4096  # of the commit graph are read and hashed in less time than one commit is read


class _Headers(dict[int, Any]):
    """The hash of what is hashed before the bytes of objects of a kind, by their size; copy it to go on.

    Those of small sizes are kept: very many objects have few sizes, and to hash a header takes as long as the rest.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._header = b"%s %%d\0" % kind.encode()

    def __missing__(self, size: int) -> Any:
        digest = hashlib.sha1(self._header % size, usedforsecurity=False)
        if size <= _KEPT_SIZE:
            self[size] = digest
        return digest


class _Kind(NamedTuple):
    """A kind of objects: its name, its number in a pack, and the hash of what is hashed before the bytes."""

    name: str
    code: int
    headers: _Headers


_COMMIT, _TREE, _BLOB = (_Kind(name, CODES[name], _Headers(name)) for name in (COMMIT, TREE, BLOB))
_KINDS: Final = {kind.code: kind for kind in (_COMMIT, _TREE, _BLOB)}


class ReadOnce:
    """The objects of a repository; what is not in a pack, or is damaged, is read by the repository.

    `commits` is the number of commits whose trees are needed: for many of them the commit graph is read.
    """

    def __init__(self, repository: Repository, commits: int = 0) -> None:
        self._repository = repository
        objects = os.path.join(repository.path, "objects")
        packs = pygit2.OdbBackendPack(objects)
        self._read = packs.read
        self._has = packs.exists
        self._graph = _read_graph(repository, commits)
        self._objects = objects

    @cached_property
    def _packs(self) -> PackReader:
        reader: PackReader = load("scopes.store.packs.reader:PackReader")(os.path.join(self._objects, "pack"))
        return reader

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        try:
            code, data = self._read(oid)
            kind = _KINDS[code]
        except _ERRORS:
            return self._repository.read(oid)
        return (kind.name, data) if _hash(kind, data) == oid else self._repository.read(oid)

    def _read_as(self, kind: _Kind, oid: Oid) -> bytes:
        try:
            code, data = self._read(oid)
        except _ERRORS:
            return read_data(self._repository, oid, kind.name)
        if code == kind.code and _hash(kind, data) == oid:
            return data
        return read_data(self._repository, oid, kind.name)

    def read_blob(self, oid: Oid) -> bytes:
        """Return the bytes of a blob, or raise NotFound or Corrupt; libgit2 takes longer for what is stored whole."""
        found = self._packs.find(oid)
        return found[1] if found is not None and found[0] == BLOB else self._read_as(_BLOB, oid)

    def read_commits(self, oids: list[Oid]) -> list[bytes]:
        """Return the bytes of many commits, or raise NotFound or Corrupt; this is faster than one after the other."""
        return self._read_all(_COMMIT, oids)

    def read_trees(self, oids: list[Oid]) -> list[bytes]:
        """Return the bytes of many trees, or raise NotFound or Corrupt."""
        return self._read_all(_TREE, oids)

    def read_blobs(self, oids: list[Oid]) -> list[bytes]:
        """Return the bytes of many blobs, or raise NotFound or Corrupt."""
        return self._read_all(_BLOB, oids)

    def _read_all(self, kind: _Kind, oids: list[Oid]) -> list[bytes]:
        try:
            found = list(map(self._read, oids))
        except _ERRORS:
            return [self._read_as(kind, oid) for oid in oids]
        _, expected, headers = kind
        names = []
        for _, data in found:  # as `_hash`, which would be one call more for each object
            digest = headers[len(data)].copy()
            digest.update(data)
            names.append(digest.hexdigest())
        if names == oids and {code for code, _ in found} <= {expected}:
            return [data for _, data in found]
        return [self._read_as(kind, oid) for oid in oids]

    def read_trees_of(self, commits: list[Oid]) -> list[bytes]:
        """Return the bytes of the trees of many commits, or raise NotFound or Corrupt.

        Packed commits are not read if the commit graph has them.
        """
        graph = self._graph
        try:
            known = [graph.find_tree(oid) if self._has(oid) else None for oid in commits] if graph is not None else []
        except _ERRORS:
            known = []
        if known and None not in known:
            return self.read_trees([tree for tree in known if tree is not None])
        return self.read_trees(list(map(parse_tree_id, commits, self.read_commits(commits))))

    def write(self, kind: str, data: bytes) -> Oid:
        """Store an object and return its id."""
        return self._repository.write(kind, data)


def _hash(kind: _Kind, data: bytes) -> str:
    """Return the id of an object."""
    digest = kind.headers[len(data)].copy()  # sooner done than a new hash
    digest.update(data)
    name: str = digest.hexdigest()
    return name


def _read_graph(repository: Repository, commits: int) -> CommitGraph | None:
    """Return the commit graph if that takes less time than to read so many commits."""
    try:
        size = os.path.getsize(graph_path(os.path.join(repository.path, "objects")))
    except OSError:
        return None
    if size > commits * _GRAPH_BYTES:
        return None
    graph: CommitGraph | None = load("scopes.store.graph_trust:find_known_graph")(repository)
    return graph
