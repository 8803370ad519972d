"""Move many refs with one run of git: libgit2 writes a file for each and syncs one by one.

This is an optimization of `recovery.move_refs`, which moves whatever is left here by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from scopes.errors import ScopesError
from scopes.model.operation import RefChange
from scopes.store.git_program import run_git
from scopes.store.libgit2 import pygit2
from scopes.store.refs import SYMBOLIC
from scopes.store.repository import Repository

_NULL = "0" * 40
# The refs are not synced one by one: git syncs `packed-refs`, into which they are packed before the operation is over.
_SETTINGS = ("core.fsync=all,-reference",)


def move_many(repository: Repository, changes: Sequence[RefChange], reason: str) -> None:
    """Move the direct refs of a committed operation, with reflogs, and pack all refs; nothing if git refuses.

    The caller holds the exclusive lock.
    """
    lines = [
        f"update {change.ref}\0{change.new or _NULL}\0{change.old or _NULL}\0"
        for change in changes
        if change.old != change.new and not any((value or "").startswith(SYMBOLIC) for value in change[1:])
    ]
    words = ("update-ref", "-z", "--stdin", "-m", reason)
    lock = repository.lock.descriptor
    with suppress(ScopesError):
        run_git(
            repository.path, *words, settings=_SETTINGS, lock=lock, stdin="".join(lines), actor=repository.git.ident
        )
        run_git(repository.path, "pack-refs", "--all", lock=lock)
    repository.git.set_refdb(pygit2.Refdb.open(repository.git))
