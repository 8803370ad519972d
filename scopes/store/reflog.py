"""Where a ref was earlier: git's reflog, which also remembers every append.

Read as a file, since libgit2 opens it through its ref only: a ref that vanished has nothing else left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from scopes.ids import Oid
from scopes.store.repository import Repository

NOTHING = Oid("0" * 40)
_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) [^\t]*> ([0-9]{1,18}) [+-][0-9]{4}(?:\t(.*))?")


class RefMove(NamedTuple):
    """One line of a reflog; `time` is in whole seconds since 1970."""

    old: Oid
    new: Oid
    time: int
    reason: str


def walk_moves(repository: Repository, ref: str) -> Iterator[RefMove]:
    """Yield the moves of a ref, newest first; nothing where its reflog is missing or unreadable."""
    try:
        with open(os.path.join(repository.path, "logs", ref), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return
    for line in reversed(lines):
        match = _LINE.fullmatch(line)
        if match is not None:
            old, new, seconds, reason = match.groups(b"")
            yield RefMove(Oid(old.decode()), Oid(new.decode()), int(seconds), reason.decode("utf-8", "replace"))


def find_value_at(repository: Repository, ref: str, seconds: int) -> Oid | None:
    """Return what the ref pointed at, at a moment in whole seconds since 1970; None when that is before its reflog."""
    for move in walk_moves(repository, ref):
        if move.time <= seconds:
            return None if move.new == NOTHING else move.new
    return None


def list_logged_refs(repository: Repository, prefixes: tuple[str, ...]) -> list[str]:
    """Return the refs below the prefixes that have a reflog, sorted by name; git removes it together with its ref."""
    top = os.path.join(repository.path, "logs")
    paths = (os.path.join(here, name) for here, _, files in os.walk(top) for name in files)
    found = (os.path.relpath(path, top) for path in paths if not path.endswith(".lock"))
    return sorted(ref for ref in found if ref.startswith(prefixes))
