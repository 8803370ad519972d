"""Objects that are written to memory, on top of those of a store: for what is planned and not done."""

from __future__ import annotations

from hashlib import sha1

from scopes.ids import Oid
from scopes.store.repository import Repository


class ObjectsInMemory:
    """Reads the store and what was written here; the store is not changed."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._written: dict[Oid, tuple[str, bytes]] = {}

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound."""
        found = self._written.get(oid)
        return self._repository.read(oid) if found is None else found

    def write(self, kind: str, data: bytes) -> Oid:
        """Keep an object and return its id."""
        oid = Oid(sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest())
        self._written[oid] = (kind, data)
        return oid
