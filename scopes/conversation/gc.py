"""`gc`: pack the store and remove what dead processes left; with `--expire`, let go of what was deleted long ago."""

from __future__ import annotations

import os
from dataclasses import dataclass

from scopes.clock import now_nanoseconds
from scopes.conversation.moments import parse_moment
from scopes.result import Note, Result
from scopes.store.expiry import expire
from scopes.store.maintenance import pack
from scopes.store.repository import Repository
from scopes.store.transaction import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected(Result):
    """The size of the object database before and after, in bytes, and what was let go."""

    path: str
    bytes_before: int
    bytes_after: int
    expired_operations: int
    expired_refs: int


def gc(repository: Repository, *, expire_before: str | None = None) -> Collected:
    """Pack everything under the exclusive lock; what nothing refers to stays two more weeks.

    `expire_before` is a moment: operations before it can no longer be undone, and what they deleted is let go.

    Raises:
        Invalid: the moment cannot be understood.
        Busy, Inaccessible: nothing is lost.
    """
    cutoff = None if expire_before is None else parse_moment(expire_before, now_nanoseconds())
    with writing(repository):
        before = _size(repository.path)
        operations, refs = (0, 0) if cutoff is None else expire(repository, cutoff)
        pack(repository)
        after = _size(repository.path)
    notes = (Note("git deletes what was let go two weeks after it was written"),) if refs or operations else ()
    return Collected(
        path=repository.path,
        bytes_before=before,
        bytes_after=after,
        expired_operations=operations,
        expired_refs=refs,
        notes=notes,
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
