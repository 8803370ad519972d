"""Objects of a store and others that are in memory alone: what would be written, also to a read-only store."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha1

from scopes.ids import Oid
from scopes.store.repository import Repository


class UnwrittenObjects:
    """Reads the objects of a store; what is written stays in memory, in `written`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._written: dict[Oid, tuple[str, bytes]] = {}

    @property
    def written(self) -> Mapping[Oid, tuple[str, bytes]]:
        """The objects that were written meanwhile, in their order."""
        return self._written

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        found = self._written.get(oid)
        return self._repository.read(oid) if found is None else found

    def write(self, kind: str, data: bytes) -> Oid:
        """Keep an object in memory and return its id."""
        oid = Oid(sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest())
        self._written[oid] = (kind, data)
        return oid
