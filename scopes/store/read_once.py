"""Read very many objects, each of them once: from the packs, without the copies that `Repository.read` keeps."""

from __future__ import annotations

import os
from typing import Final

from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.loose import CODES
from scopes.store.objects import BLOB, COMMIT, TREE, parse_tree_id
from scopes.store.repository import KINDS, Repository, read_data

_ERRORS: Final = (KeyError, ValueError, pygit2.GitError)


class ReadOnce:
    """The objects of a repository; what is not in a pack is read by the repository.

    Every method raises NotFound or Corrupt.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._read_packed = pygit2.OdbBackendPack(os.path.join(repository.path, "objects")).read

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object."""
        try:
            code, data = self._read_packed(oid)
        except _ERRORS:
            return self._repository.read(oid)
        return KINDS[code], data

    def read_commits(self, oids: list[Oid]) -> list[bytes]:
        """Return the bytes of many commits."""
        return self._read_all(COMMIT, oids)

    def read_trees(self, oids: list[Oid]) -> list[bytes]:
        """Return the bytes of many trees."""
        return self._read_all(TREE, oids)

    def read_blob(self, oid: Oid) -> bytes:
        """Return the bytes of a blob."""
        return self._read_all(BLOB, [oid])[0]

    def read_blobs(self, oids: list[Oid]) -> list[bytes]:
        """Return the bytes of many blobs."""
        return self._read_all(BLOB, oids)

    def read_trees_of(self, commits: list[Oid]) -> list[bytes]:
        """Return the bytes of the trees of many commits."""
        return self.read_trees(list(map(parse_tree_id, commits, self.read_commits(commits))))

    def write(self, kind: str, data: bytes) -> Oid:
        """Store an object and return its id."""
        return self._repository.write(kind, data)

    def _read_all(self, kind: str, oids: list[Oid]) -> list[bytes]:
        wanted, read, found = CODES[kind], self._read_packed, []
        for oid in oids:
            try:
                code, data = read(oid)
            except _ERRORS:
                code = 0
            found.append(data if code == wanted else read_data(self._repository, oid, kind))
        return found
