"""The objects that came from a remote and are not in the store yet, together with those of the store, to check them."""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet
from typing import Final

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.store.error_translation import translated
from scopes.store.libgit2 import pygit2
from scopes.store.quarantine import Quarantine
from scopes.store.repository import KINDS, Repository
from scopes.store.unwritten_objects import UnwrittenObjects

_ERRORS: Final = (KeyError, ValueError, pygit2.GitError)


class ReceivedObjects(UnwrittenObjects):
    """Reads objects of a quarantine, else of the store; what is written stays in memory, in `written`.

    Git has checked the packs before.
    """

    def __init__(self, repository: Repository, quarantine: Quarantine) -> None:
        super().__init__(repository)
        with translated("read the new packs", quarantine.path):
            # not through libgit2's object database, which takes half as long again
            packs = pygit2.OdbBackendPack(os.path.join(quarantine.path, "objects"))
        self._read_packed, self._read_header = packs.read, packs.read_header
        self._new = {Oid(str(oid)): None for oid in packs}

    @property
    def new(self) -> AbstractSet[Oid]:
        """The ids of all objects that came from the remote, pack by pack; the store may have some of them, too."""
        return self._new.keys()

    def is_new(self, oid: Oid) -> bool:
        """Return True if an object came from the remote; the store may have it, too."""
        return oid in self._new

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        if oid not in self._new:
            return super().read(oid)
        try:
            code, data = self._read_packed(oid)
        except _ERRORS as error:
            raise _damaged(oid) from error
        return KINDS[code], data

    def read_header(self, oid: Oid) -> tuple[str, int]:
        """Return kind and size of a new object, which is not inflated for that, or raise Corrupt."""
        try:
            code, size = self._read_header(oid)
        except _ERRORS as error:
            raise _damaged(oid) from error
        return KINDS[code], size


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} from the remote cannot be read", hint="it may be hostile")
