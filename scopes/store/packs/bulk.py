"""Write many objects into packs instead of one file each; they can be read before the pack is finished."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.packs.writer import PackWriter, remove_temporary_files
from scopes.store.repository import Repository

_WINDOW_BYTES = 1 << 20
_MAPPED_BYTES = 8 << 20
_FEW_OBJECTS = 5000


class BulkObjects:
    """The objects of a store and of a pack that is being written; the store gets the pack when it is finished."""

    def __init__(self, repository: Repository, writer: PackWriter, directory: str, *, keep: bool) -> None:
        self._repository = repository
        self._writer = writer
        self._directory = directory
        self._keep = keep

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        return self._writer.find(oid) or self._repository.read(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Add an object to the pack, unless it is already in the store."""
        return self._writer.write(kind, data)

    def finish(self) -> None:
        """Add the objects to the store before the end of the block, unless they are to be discarded.

        Raises:
            Inaccessible: the disk failed.
        """
        if self._keep:
            self._writer.finish()
        else:
            self._writer.discard()

    def remove_temporary_files(self, process: int) -> None:
        """Remove the unfinished packs of a process that was killed."""
        remove_temporary_files(self._directory, process)


class _KnownObjects:
    """Looks up objects of a store; in one without packs, as a first import finds it, without asking the disk."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._packs = os.path.join(repository.path, "objects", "pack")
        self._loose: set[str] | None = None
        self._listed_at = 0

    def has(self, oid: Oid) -> bool:
        """Return True if the store has an object; one that another process has just written may be missed."""
        changed = os.stat(self._packs).st_mtime_ns
        if changed != self._listed_at:
            self._loose, self._listed_at = self._list_loose(), changed
        return self._repository.has(oid) if self._loose is None else oid in self._loose

    def _list_loose(self) -> set[str] | None:
        """Return all objects of a store without packs; None if it has packs or many objects."""
        directory = os.path.dirname(self._packs)
        with suppress(OSError):
            if any(name.endswith(".idx") for name in os.listdir(self._packs)):
                return None
            found: set[str] = set()
            for start in os.listdir(directory):
                if len(start) == 2 and len(found) <= _FEW_OBJECTS:
                    found |= {start + rest for rest in os.listdir(os.path.join(directory, start))}
            return found if len(found) <= _FEW_OBJECTS else None
        return None


@contextmanager
def bulk_objects(repository: Repository, *, keep: bool = True) -> Iterator[BulkObjects]:
    """Collect objects and add them to the store, synced, at the end of the block; none of them if the block fails.

    Without `keep` they are discarded in any case: a dry run. Hold the lock of the store, and move refs only after the
    block. This also limits how much of each pack libgit2 maps into the memory of this process from now on: by default
    it maps whole packs, and it reads them for every ref that it moves.

    Raises:
        Inaccessible: disk full or permission denied.
    """
    pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = _WINDOW_BYTES, _MAPPED_BYTES
    directory = os.path.join(repository.path, "objects", "pack")
    known = _KnownObjects(repository)
    with PackWriter(directory, known.has, durable=repository.durable) as writer:
        yield BulkObjects(repository, writer, directory, keep=keep)
        if not keep:
            writer.discard()
