"""Whether objects that nothing reached were deleted since a moment: their number is the length of a file of the store.

A purge deletes every object that nothing reaches, under the exclusive lock, also one that was written a moment ago. So
an object is written under the lock of the store, and a ref moves to it before the lock is let go. What cannot hold
the lock so long, because it waits for a server or for a disk, compares under its next lock (`Prunes`).

`gc` is different: what nothing reaches stays for two weeks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from scopes.errors import Busy, ScopesError
from scopes.store.error_translation import translated

Done = TypeVar("Done")

FILE: Final = "scopes.prunes"


def count_prunes(store: str) -> int:
    """Return how often objects were deleted that nothing reached."""
    try:
        return os.stat(f"{store}/{FILE}").st_size
    except OSError:
        return 0


def note_prune(store: str) -> None:
    """Record that objects will be deleted now; call it under the exclusive lock.

    Raises:
        Inaccessible: the disk is full, or not writable; nothing may be deleted.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with translated("prepare to delete objects", store):
        descriptor = os.open(os.path.join(store, FILE), flags, 0o600)
        try:
            os.write(descriptor, b"\n")
        finally:
            os.close(descriptor)


class Prunes:
    """What was deleted since this was made."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._before = count_prunes(store)

    def have_run(self) -> bool:
        """Return True if objects may have been deleted; certain for those that were there while a lock was held."""
        return count_prunes(self._store) != self._before

    def require_none(self) -> None:
        """Raise Busy if objects may have been deleted; call it under the lock, before a ref moves."""
        if self.have_run():
            raise _busy()


@contextmanager
def without_prunes(store: str) -> Iterator[Prunes]:
    """Run a block that needs objects which no ref of the store reaches; blame a purge for errors if one has run.

    Raises:
        Busy: the block failed, and a purge has run meanwhile.
    """
    prunes = Prunes(store)
    try:
        yield prunes
    except ScopesError as error:
        if prunes.have_run():
            raise _busy() from error
        raise


def again_after_prunes(store: str, work: Callable[[], Done], tries: int = 3) -> Done:
    """Return what a piece of work comes to; it is done again if it failed, and objects were deleted meanwhile.

    Raises:
        ScopesError: that of the work, of the last time.
    """
    for _ in range(tries - 1):
        prunes = Prunes(store)
        try:
            return work()
        except ScopesError:
            if not prunes.have_run():
                raise
    return work()


def _busy() -> Busy:
    return Busy("scopes purge has deleted objects of the store meanwhile", hint="try again")
