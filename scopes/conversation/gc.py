"""`gc`: pack the store and remove files of dead processes; with `--expire`, delete old trash and operations."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import now_nanoseconds, parse_date
from scopes.index.database import delete_files
from scopes.model.operation import Operation
from scopes.result import Note, Result
from scopes.store.expire import expire, plan_expire
from scopes.store.maintenance import count_loose_objects, pack
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageCollected(Result):
    """The size of the object database before and after, and the number of expired operations and trash refs.

    With `dry_run` nothing was changed: the numbers are those of the run without it, the size afterwards is unknown, and
    `loose_objects`, `operations` and `refs` are what would be packed and deleted.
    """

    path: str
    bytes_before: int
    bytes_after: int | None
    expired_operations: int
    expired_refs: int
    dry_run: bool = False
    loose_objects: int = 0
    operations: tuple[Operation, ...] = ()
    refs: tuple[str, ...] = ()


def parse_cutoff(text: str) -> int:
    """Return the time before which operations expire, in nanoseconds since 1970.

    Raises:
        Invalid: the text is not a time.
    """
    return parse_date(text, now_nanoseconds())


def plan_gc(repository: Repository, *, expire_before: str | None = None) -> GarbageCollected:
    """Return what `gc` would do with the same options, and change nothing.

    Raises:
        Invalid: the date cannot be parsed.
    """
    cutoff = None if expire_before is None else parse_cutoff(expire_before)
    _, operations, trash = ([], [], []) if cutoff is None else plan_expire(repository, cutoff)
    return GarbageCollected(
        path=repository.path,
        bytes_before=_size(repository.path),
        bytes_after=None,
        expired_operations=len(operations),
        expired_refs=len(trash),
        dry_run=True,
        loose_objects=count_loose_objects(repository),
        operations=tuple(operations),
        refs=tuple(change.ref for change in trash),
    )


def gc(repository: Repository, *, expire_before: str | None = None, caches: Iterable[str] = ()) -> GarbageCollected:
    """Pack the store under the exclusive lock; unreachable objects stay for two more weeks.

    `expire_before` is a date: operations before it can no longer be undone, and the trash refs that they created are
    deleted. With it, the directories in `caches`, which hold data derived from the store, are emptied at once, because
    they may contain the text of expired messages.

    Raises:
        Invalid: the date cannot be parsed.
        Busy, Inaccessible: nothing was deleted.
    """
    cutoff = None if expire_before is None else parse_cutoff(expire_before)
    with exclusive_write(repository):
        before = _size(repository.path)
        operations, refs = (0, 0) if cutoff is None else expire(repository, cutoff)
        pack(repository)
        after = _size(repository.path)
    notes = [Note("git deletes expired objects two weeks after they were written")] if refs or operations else []
    if cutoff is not None:
        failures = [failure for directory in caches for failure in delete_files(directory)]
        notes += [Note(f"a cache may still hold what was deleted: {why}", "remove it yourself") for why in failures]
    return GarbageCollected(
        path=repository.path,
        bytes_before=before,
        bytes_after=after,
        expired_operations=operations,
        expired_refs=refs,
        notes=tuple(notes),
    )


def _size(path: str) -> int:
    """Return the disk usage of the object database in bytes."""
    total = 0
    for top, _, files in os.walk(os.path.join(path, "objects")):
        for name in files:
            try:
                total += os.stat(os.path.join(top, name)).st_blocks * 512
            except OSError:
                continue
    return total
