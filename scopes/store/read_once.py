"""Read very many objects, each of them once: from the packs, without the copies that `Repository.read` keeps."""

from __future__ import annotations

from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.objects import BLOB, COMMIT, TREE
from scopes.store.repository import Repository

_COMMIT, _TREE, _BLOB = pygit2.enums.ObjectType.COMMIT, pygit2.enums.ObjectType.TREE, pygit2.enums.ObjectType.BLOB
_LENGTH = 40


class ReadOnce:
    """The objects of a repository; what is not in a pack, or is damaged, is read by the repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._read = repository.packs.read

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        if len(oid) == _LENGTH:
            try:
                code, data = self._read(oid)
            except (KeyError, ValueError, pygit2.GitError):
                return self._repository.read(oid)
            if code is _TREE:  # the members of an enumeration are slow as keys of a dict
                return TREE, data
            if code is _COMMIT:
                return COMMIT, data
            if code is _BLOB:
                return BLOB, data
        return self._repository.read(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Store an object and return its id."""
        return self._repository.write(kind, data)
