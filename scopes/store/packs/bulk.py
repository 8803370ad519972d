"""Write many objects into packs instead of one file each; they can be read before the pack is finished."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from scopes.ids import Oid
from scopes.store.libgit2 import limit_mapped_packs
from scopes.store.packs.known_objects import KnownObjects
from scopes.store.packs.writer import PackWriter, remove_temporary_files
from scopes.store.repository import Repository


class BulkObjects:
    """The objects of a store and of a pack that is being written; the store gets the pack when it is finished."""

    def __init__(self, repository: Repository, writer: PackWriter, directory: str, *, keep: bool) -> None:
        self._repository = repository
        self._writer = writer
        self._directory = directory
        self._keep = keep
        self._recent = repository.recent

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        return self._writer.find(oid) or self._repository.read(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Add an object to the pack, unless it is already in the store."""
        oid = self._writer.write(kind, data)
        if self._recent.keeps_packed and self._keep:
            self._recent.add(oid, (kind, data))
        return oid

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


@contextmanager
def bulk_objects(repository: Repository, *, keep: bool = True) -> Iterator[BulkObjects]:
    """Collect objects and add them to the store, synced, at the end of the block; none of them if the block fails.

    Without `keep` they are discarded in any case: a dry run. Hold the lock of the store, and move refs only after the
    block. This also limits how much of each pack libgit2 maps into the memory of this process from now on: by default
    it maps whole packs, and it reads them for every ref that it moves.

    Raises:
        Inaccessible: disk full or permission denied.
    """
    limit_mapped_packs()
    directory = os.path.join(repository.path, "objects", "pack")
    known = KnownObjects(repository)  # the lock keeps what is there
    with PackWriter(directory, known.has, durable=repository.durable, on_installed=known.look_again) as writer:
        yield BulkObjects(repository, writer, directory, keep=keep)
        if not keep:
            writer.discard()
