"""`gc`: pack the store and remove what dead processes left; with `--expire`, let go of what was deleted long ago."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import now_nanoseconds
from scopes.history.dates import parse_moment
from scopes.index.database import forget
from scopes.result import Note, Result
from scopes.store.expire import expire
from scopes.store.maintenance import pack
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageCollected(Result):
    """The size of the object database before and after, in bytes, and what was let go."""

    path: str
    bytes_before: int
    bytes_after: int
    expired_operations: int
    expired_refs: int


def gc(repository: Repository, *, expire_before: str | None = None, caches: Iterable[str] = ()) -> GarbageCollected:
    """Pack everything under the exclusive lock; what nothing refers to stays two more weeks.

    `expire_before` is a moment: operations before it can no longer be undone, and what they deleted is let go. With it
    everything in the `caches`, directories of what was derived from the store, goes at once: they may hold the words.

    Raises:
        Invalid: the moment cannot be understood.
        Busy, Inaccessible: nothing is lost.
    """
    cutoff = None if expire_before is None else parse_moment(expire_before, now_nanoseconds())
    with exclusive_write(repository):
        before = _size(repository.path)
        operations, refs = (0, 0) if cutoff is None else expire(repository, cutoff)
        pack(repository)
        after = _size(repository.path)
    notes = [Note("git deletes what was let go two weeks after it was written")] if refs or operations else []
    if cutoff is not None:
        kept = [trouble for directory in caches for trouble in forget(directory)]
        notes += [Note(f"a cache may still hold what was deleted: {trouble}", "remove it yourself") for trouble in kept]
    return GarbageCollected(
        path=repository.path,
        bytes_before=before,
        bytes_after=after,
        expired_operations=operations,
        expired_refs=refs,
        notes=tuple(notes),
    )


def _size(path: str) -> int:
    """Add up what the object database takes on the disk."""
    total = 0
    for top, _, files in os.walk(os.path.join(path, "objects")):
        for name in files:
            try:
                total += os.stat(os.path.join(top, name)).st_blocks * 512
            except OSError:
                continue
    return total
