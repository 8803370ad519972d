"""Look up whether a store has an object, for a process that writes many: most of them are new.

libgit2's object database reads the directory of packs again for every object that it does not find.
"""

from __future__ import annotations

import os
from contextlib import suppress

from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.repository import Repository


class KnownObjects:
    """The packs and the loose objects of a store; what another process writes meanwhile may be missed."""

    def __init__(self, repository: Repository) -> None:
        self._directory = os.path.join(repository.path, "objects")
        self._packs = pygit2.OdbBackendPack(self._directory)
        self._loose: set[str] | None = None

    def has(self, oid: Oid) -> bool:
        """Return True if the store has an object."""
        if self._loose is None:
            self._loose = set()
            for start in os.listdir(self._directory):
                if len(start) == 2:
                    with suppress(FileNotFoundError):
                        self._loose |= {start + rest for rest in os.listdir(os.path.join(self._directory, start))}
        return oid in self._loose or self._packs.exists(oid)

    def look_again(self) -> None:
        """Find the packs that were added since."""
        self._packs.refresh()
