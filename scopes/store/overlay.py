"""A store to write into in vain: it has all that another one has, and goes away with everything that was put into it.

Reading goes through links, so that it costs nothing; new objects and packs get files of its own. Refs are the other
store's own, so nothing may move one.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory, gettempdir

from scopes.store.error_translation import translated
from scopes.store.init import create_store
from scopes.store.lock import LOCK_FILE, TURNSTILE_FILE
from scopes.store.repository import Repository, open_repository

_PACKS = ("objects", "pack")
_OWN = {"objects", LOCK_FILE, TURNSTILE_FILE}


@contextmanager
def overlay_of(repository: Repository) -> Iterator[Repository]:
    """Open a shadow of a store for the time of a block; the store itself may be one that cannot be written.

    Raises:
        Inaccessible: there is no room for temporary files.
    """
    with ExitStack() as stack:
        with translated("make a temporary store", gettempdir()):
            path = stack.enter_context(TemporaryDirectory(prefix="scopes-"))
            os.makedirs(os.path.join(path, *_PACKS))
            _link_entries(repository.path, path, _OWN)
            _link_entries(os.path.join(repository.path, _PACKS[0]), os.path.join(path, _PACKS[0]), {_PACKS[1]})
            _link_entries(os.path.join(repository.path, *_PACKS), os.path.join(path, *_PACKS))
        shadow = open_repository(path)
        shadow.caller = repository.caller
        yield shadow


@contextmanager
def empty_store() -> Iterator[Repository]:
    """Open a new store for the time of a block: what is said of a place where there is none yet.

    Raises:
        Inaccessible: there is no room for temporary files.
    """
    with TemporaryDirectory(prefix="scopes-") as folder:
        path = os.path.join(folder, "store")
        create_store(path)
        yield open_repository(path)


def _link_entries(source: str, target: str, left_out: Container[str] = ()) -> None:
    for name in os.listdir(source):
        if name not in left_out:
            os.symlink(os.path.join(os.path.abspath(source), name), os.path.join(target, name))
