"""Let one process at a time import a source into a store, and at most one wait for it.

A process that finds another one waiting has nothing to do: the waiting one begins later, so it will read all that is in
the source now. So ten ends of a turn in one second are two imports, and the last turn is in the second one. The kernel
releases the locks of a process that dies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from scopes.live.file_lock import acquire_lock, release_lock


@contextmanager
def source_lock(directory: str, *names: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Hold the lock of a source, named by what identifies it; yield False, at once, if another process waits for it.

    on_wait: is called before this process waits for another one

    Raises:
        OSError: the directory of the locks cannot be written, its file system has no locks, or the file of the lock is
            replaced whenever it is locked.
    """
    os.makedirs(directory, mode=0o700, exist_ok=True)
    name = sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    path = os.path.join(directory, name)
    waiting = None
    with suppress(BlockingIOError):
        waiting = acquire_lock(f"{path}.waiting", wait=False)
    if waiting is None:
        yield False
        return
    try:
        try:
            running = acquire_lock(f"{path}.running", wait=False)
        except BlockingIOError:
            on_wait()
            running = acquire_lock(f"{path}.running", wait=True)
    finally:
        release_lock(f"{path}.waiting", waiting)
    try:
        yield True
    finally:
        release_lock(f"{path}.running", running)
