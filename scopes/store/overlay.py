"""Temporary stores for dry runs: an overlay over an existing store, or an empty store.

An overlay reads the objects of the existing store through symbolic links and writes new objects and packs into its own
directories, which are deleted afterwards. The refs are linked too, so an overlay must not move a ref.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory, gettempdir

from scopes.store.config import Setting
from scopes.store.error_translation import translated
from scopes.store.init import create_store
from scopes.store.libgit2 import pygit2
from scopes.store.locks import LOCK_FILE, TURNSTILE_FILE
from scopes.store.open_repository import open_repository, open_unchecked
from scopes.store.recent_objects import RecentObjects
from scopes.store.repository import Repository

_PACKS = ("objects", "pack")
_NOT_SYNCED = {"scopes.durability": Setting("scopes.durability", "fast", "flag")}
_MEMORY_BYTES = 32 << 20  # what is imported into an empty store is read next
_NOT_LINKED = {"objects", LOCK_FILE, TURNSTILE_FILE}


@contextmanager
def overlay_of(repository: Repository) -> Iterator[Repository]:
    """Open an overlay over a store for the duration of a block; the store itself may be read-only.

    Raises:
        Inaccessible: temporary files cannot be written.
    """
    with ExitStack() as stack:
        with translated("make a temporary store", gettempdir()):
            path = stack.enter_context(TemporaryDirectory(prefix="scopes-"))
            os.makedirs(os.path.join(path, *_PACKS))
            _link_entries(repository.path, path, _NOT_LINKED)
            _link_entries(os.path.join(repository.path, _PACKS[0]), os.path.join(path, _PACKS[0]), {_PACKS[1]})
            _link_entries(os.path.join(repository.path, *_PACKS), os.path.join(path, *_PACKS))
        overlay = open_unchecked(path)
        overlay.caller = repository.caller
        yield overlay


@contextmanager
def empty_store() -> Iterator[Repository]:
    """Open an empty temporary store for the duration of a block: the preview of a command whose store does not exist.

    Nothing in it is synced to the disk, because it is deleted anyway.

    Raises:
        Inaccessible: temporary files cannot be written.
    """
    with TemporaryDirectory(prefix="scopes-") as directory:
        path = os.path.join(directory, "store")
        create_store(path, durable=False)
        try:
            repository = open_repository(path, _NOT_SYNCED)
            repository.recent = RecentObjects(_MEMORY_BYTES, keeps_packed=True)
            yield repository
        finally:
            pygit2.settings.enable_fsync_gitdir(True)  # the setting belongs to the process


def _link_entries(source: str, target: str, excluded: Container[str] = ()) -> None:
    for name in os.listdir(source):
        if name not in excluded:
            os.symlink(os.path.join(os.path.abspath(source), name), os.path.join(target, name))
