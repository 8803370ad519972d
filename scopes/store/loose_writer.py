"""Write large loose objects without libgit2, which holds the interpreter while it compresses and writes.

No other thread of this process would run for that time. Here each long step lets them run: hashing, compression in
pieces, write and fsync. A file is complete before it has its name, as with git; `git prune` removes what a kill leaves.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Final

from scopes.clock import random_bytes
from scopes.ids import Oid
from scopes.loading import load
from scopes.store.init import sync

LARGE_BYTES: Final = 1 << 16
_PIECE_BYTES = 1 << 17
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_LEVEL = 4  # of zlib
_FAST_LEVEL = 2  # of isal


def write_large(
    objects_directory: str, kind: str, data: bytes, *, is_known: Callable[[Oid], bool], durable: bool
) -> Oid | None:
    """Write an object and return its id; None, without a write, if it is small or known.

    Of an object that is known libgit2 only changes the time of its file, so that a repack keeps it. `durable`: the
    object is on the disk afterwards.

    Raises:
        OSError: nothing was written but perhaps a temporary file.
    """
    if len(data) < LARGE_BYTES:
        return None
    header = b"%s %d\0" % (kind.encode(), len(data))
    digest = hashlib.sha1(header, usedforsecurity=False)
    digest.update(data)
    oid = Oid(digest.hexdigest())
    if is_known(oid):
        return None
    folder = os.path.join(objects_directory, oid[:2])
    with suppress(FileExistsError):
        os.mkdir(folder)
        if durable:
            sync(objects_directory)
    _write_file(os.path.join(folder, oid[2:]), _deflate(header, data), durable=durable)
    if durable:
        sync(folder)
    return oid


def _write_file(path: str, pieces: Iterator[bytes], *, durable: bool) -> None:
    """Write a file under a temporary name, and rename it."""
    temporary = os.path.join(os.path.dirname(path), f"tmp_obj_{os.getpid()}_{random_bytes(8).hex()}")
    with ExitStack() as unless_renamed:
        descriptor = os.open(temporary, _CREATE, 0o444)
        unless_renamed.callback(_unlink, temporary)
        try:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
        unless_renamed.pop_all()


def try_write(objects_directory: str, size: int) -> None:
    """Write a file as large as a small message where objects are written, and take it away again.

    Raises:
        OSError: the disk is full, or the directory cannot be written.
    """
    path = os.path.join(objects_directory, f"tmp_obj_{os.getpid()}_{random_bytes(8).hex()}")
    with ExitStack() as always:
        descriptor = os.open(path, _CREATE, 0o444)
        always.callback(_unlink, path)
        with open(descriptor, "wb") as file:
            file.write(random_bytes(size))  # a disk that compresses needs all of it too
            file.flush()
            os.fsync(descriptor)


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _deflate(header: bytes, data: bytes) -> Iterator[bytes]:
    deflater = _new_deflater()
    yield deflater.compress(header)
    whole = memoryview(data)
    for start in range(0, len(data), _PIECE_BYTES):
        yield deflater.compress(whole[start : start + _PIECE_BYTES])
    yield deflater.flush()


def _new_deflater() -> Any:
    """Return a deflater: that of isal, if it is installed, is much faster."""
    try:
        return load("isal.isal_zlib:compressobj")(_FAST_LEVEL)
    except ImportError:
        return zlib.compressobj(_LEVEL)
