"""`gc`: pack the store and remove files of dead processes; with `--expire`, delete old trash and operations."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import now_nanoseconds, parse_moment
from scopes.index.database import delete_files
from scopes.result import Note, Result
from scopes.store.containment import list_program_keys
from scopes.store.expire import expire
from scopes.store.maintenance import pack
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageCollected(Result):
    """The size of the object database before and after, and the number of expired operations and trash refs."""

    path: str
    bytes_before: int
    bytes_after: int
    expired_operations: int
    expired_refs: int


def gc(repository: Repository, *, expire_before: str | None = None, caches: Iterable[str] = ()) -> GarbageCollected:
    """Pack the store under the exclusive lock; unreachable objects stay for two more weeks.

    `expire_before` is a date: operations before it can no longer be undone, and the trash refs that they created are
    deleted. With it, the directories in `caches`, which hold data derived from the store, are emptied at once, because
    they may contain the text of expired messages.

    Raises:
        Invalid: the date cannot be parsed.
        Busy, Inaccessible: nothing was deleted.
    """
    cutoff = None if expire_before is None else parse_moment(expire_before, now_nanoseconds())
    with exclusive_write(repository):
        before = _size(repository.path)
        operations, refs = (0, 0) if cutoff is None else expire(repository, cutoff)
        pack(repository)
        after = _size(repository.path)
    programs = list_program_keys(repository.path)
    notes = [Note("git deletes expired objects two weeks after they were written")] if refs or operations else []
    if cutoff is not None:
        failures = [failure for directory in caches for failure in delete_files(directory)]
        notes += [Note(f"a cache may still hold what was deleted: {why}", "remove it yourself") for why in failures]
    if programs:
        hint = f"if you did not set them, remove them from {os.path.join(repository.path, 'config')}"
        notes.append(Note(f"git ran without the store's settings that name programs: {', '.join(programs)}", hint))
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
