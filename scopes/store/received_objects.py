"""The objects that came from a remote and are not in the store yet, together with those of the store, to check them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha1

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.store.error_translation import translated
from scopes.store.libgit2 import pygit2
from scopes.store.packs.known_objects import PackNames
from scopes.store.quarantine import Quarantine
from scopes.store.repository import KINDS, Repository


class ReceivedObjects:
    """Reads objects of a quarantine, else of the store; what is written stays in memory, in `written`.

    Git has checked the packs before.
    """

    def __init__(self, repository: Repository, quarantine: Quarantine) -> None:
        self._repository = repository
        with translated("read the new packs", quarantine.path):
            self._names = [PackNames(f"{pack}.idx") for pack in quarantine.list_packs()]
            self._packs = pygit2.Odb()
            self._packs.add_backend(pygit2.OdbBackendPack(os.path.join(quarantine.path, "objects")), 1)
        self._written: dict[Oid, tuple[str, bytes]] = {}

    @property
    def written(self) -> Mapping[Oid, tuple[str, bytes]]:
        """The objects that were written meanwhile, in their order."""
        return self._written

    def is_new(self, oid: Oid) -> bool:
        """Return True if an object came from the remote; the store may have it, too."""
        name = bytes.fromhex(oid)
        return any(name in names for names in self._names)

    def list_new(self) -> Iterator[Oid]:
        """Yield the ids of all objects that came from the remote, pack by pack."""
        for names in self._names:
            yield from (Oid(name.hex()) for name in names)

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        found = self._written.get(oid)
        if found is not None:
            return found
        if not self.is_new(oid):
            return self._repository.read(oid)
        try:
            code, data = self._packs.read(oid)
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise Corrupt(f"object {oid} from the remote cannot be read", hint="it may be hostile") from error
        return KINDS[code], data

    def write(self, kind: str, data: bytes) -> Oid:
        """Keep an object in memory and return its id."""
        oid = Oid(sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest())
        self._written[oid] = (kind, data)
        return oid
