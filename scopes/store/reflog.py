"""Read git's reflogs: the earlier values of refs, including every append.

The files are read directly: libgit2 opens a reflog through its ref only, and a lost ref has nothing but its reflog.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from scopes.ids import Oid
from scopes.regular_file import open_regular
from scopes.store.repository import Repository

NULL_OID = Oid("0" * 40)
_BLOCK_BYTES = 1 << 16
_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) [^\t]*> ([0-9]{1,18}) [+-][0-9]{4}(?:\t(.*))?")


class RefMove(NamedTuple):
    """One line of a reflog; `time` is in whole seconds since 1970."""

    old: Oid
    new: Oid
    time: int
    reason: str


def walk_moves(repository: Repository, ref: str) -> Iterator[RefMove]:
    """Yield the moves of a ref, newest first; none if its reflog is missing or unreadable."""
    for line in _walk_lines_backwards(os.path.join(repository.path, "logs", ref)):
        match = _LINE.fullmatch(line)
        if match is not None:
            old, new, seconds, reason = match.groups(b"")
            yield RefMove(Oid(old.decode()), Oid(new.decode()), int(seconds), reason.decode("utf-8", "replace"))


def _walk_lines_backwards(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, last first, in bounded memory; a line longer than a block is left out."""
    try:
        with open_regular(path) as file:
            end, tail = os.fstat(file.fileno()).st_size, b""
            while end:
                start = max(0, end - _BLOCK_BYTES)
                file.seek(start)
                first, *lines = (file.read(end - start) + tail).split(b"\n")
                yield from reversed(lines)
                tail, end = first[-_BLOCK_BYTES:], start
            yield tail
    except OSError:
        return


def find_value_at(repository: Repository, ref: str, seconds: int) -> Oid | None:
    """Return the value of a ref at a time in seconds since 1970; None before the reflog and after a deletion."""
    for move in walk_moves(repository, ref):
        if move.time <= seconds:
            return None if move.new == NULL_OID else move.new
    return None


def list_logged_refs(repository: Repository, prefixes: tuple[str, ...]) -> list[str]:
    """Return the refs with one of the prefixes that have a reflog, sorted by name; git deletes both together."""
    top = os.path.join(repository.path, "logs")
    paths = (os.path.join(here, name) for here, _, files in os.walk(top) for name in files)
    logged = (os.path.relpath(path, top) for path in paths if not path.endswith(".lock"))
    return sorted(ref for ref in logged if ref.startswith(prefixes))
