"""A named pipe in place of a file: who opens it to read waits for ever, unless a test notices and ends that."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SECONDS = 10.0  # after which a reader waits; it then reads an empty file, so that the test ends


@contextmanager
def named_pipe(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make a named pipe, and fail if a program waits for it; it is let go on then, instead of hanging."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.mkfifo(path)
    ended, waited = threading.Event(), []

    def release() -> None:
        while not ended.wait(SECONDS):
            with suppress(OSError):  # nobody reads
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                waited.append(path)

    watcher = threading.Thread(target=release, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    assert not waited, f"a program waited for {path}"
