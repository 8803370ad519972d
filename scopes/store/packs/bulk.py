"""Writing very many objects: into packs of bounded memory instead of one file each, readable while they are made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from scopes.ids import Oid
from scopes.store.libgit2 import pygit2
from scopes.store.packs.writer import PackWriter
from scopes.store.repository import Repository

_WINDOW_BYTES = 1 << 20
_MAPPED_BYTES = 8 << 20


class BulkObjects:
    """The objects of a store and of a pack in the making; nothing of the pack is in the store before it is finished."""

    def __init__(self, repository: Repository, writer: PackWriter) -> None:
        self._repository = repository
        self._writer = writer

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        return self._writer.find(oid) or self._repository.read(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Put an object into the pack, unless it is in the store already."""
        return self._writer.write(kind, data)


@contextmanager
def bulk_objects(repository: Repository, *, keep: bool = True) -> Iterator[BulkObjects]:
    """Collect objects; they are synced and in the store when the block ends, and nowhere when it fails.

    Without `keep` they are thrown away in any case: a dry run.

    Hold the store's lock, and move refs only after the block. From then on this process has little of any pack in
    memory at once: libgit2 else maps each whole, and looks into them for every ref that it moves.

    Raises:
        Inaccessible: disk full, permission.
    """
    pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = _WINDOW_BYTES, _MAPPED_BYTES
    directory = os.path.join(repository.path, "objects", "pack")
    with PackWriter(directory, repository.has, durable=repository.durable) as writer:
        yield BulkObjects(repository, writer)
        if not keep:
            writer.discard()
