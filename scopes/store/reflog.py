"""Where a ref was earlier: git's reflog, which also remembers every append."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pygit2

from scopes.ids import Oid
from scopes.store.repository import Repository

NOTHING = Oid("0" * 40)


class Move(NamedTuple):
    """One line of a reflog; `time` is in whole seconds since 1970."""

    old: Oid
    new: Oid
    time: int
    reason: str


def walk_moves(repository: Repository, ref: str) -> Iterator[Move]:
    """Yield the moves of a ref, newest first; nothing where the ref or its reflog is missing or unreadable."""
    try:
        reference = repository.git.references.get(ref)
        entries = [] if reference is None else list(reference.log())
    except (pygit2.GitError, OSError, ValueError):
        return
    for entry in entries:
        yield Move(Oid(str(entry.oid_old)), Oid(str(entry.oid_new)), entry.committer.time, entry.message or "")


def find_value_at(repository: Repository, ref: str, seconds: int) -> Oid | None:
    """Return what the ref pointed at, at a moment in whole seconds since 1970; None when that is before its reflog."""
    for move in walk_moves(repository, ref):
        if move.time <= seconds:
            return move.new
    return None
