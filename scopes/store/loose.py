"""Read loose objects without libgit2.

libgit2 1.9.7 loops forever on a truncated object (libgit2 issue 7342), which a power cut can leave, and writes beyond
its buffer if the header of an object gives too small a size (issue 7177).
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Final

from scopes.clock import random_bytes
from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.regular_file import UnusableFile, read_regular, sync
from scopes.store.libgit2 import pygit2, refusal
from scopes.store.objects import BLOB, COMMIT, TAG, TREE

CODES = {COMMIT: 1, TREE: 2, BLOB: 3, TAG: 4}
MAX_OBJECT_BYTES = 256 << 20  # zlib expands up to a thousand times, so the size of the file limits nothing
_MAX_STORED_BYTES = MAX_OBJECT_BYTES + (1 << 20)
_MAX_HEADER_BYTES = 32
_HEADER = re.compile(rb"(?P<kind>commit|tree|blob|tag) (?P<size>0|[1-9][0-9]{0,11})")


def find_loose(objects_directory: str, oid: Oid) -> tuple[str, bytes] | None:
    """Return kind and bytes of a loose object; None if there is no such file.

    Raises:
        Corrupt: the file is damaged.
        OSError: the file cannot be read.
    """
    try:
        stored = read_regular(f"{objects_directory}/{oid[:2]}/{oid[2:]}", _MAX_STORED_BYTES)
    except FileNotFoundError:
        return None
    except UnusableFile as error:
        raise _damaged(oid) from error
    try:
        kind, body = _inflate(stored)
    except (ValueError, zlib.error) as error:
        raise _damaged(oid) from error
    digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(body)), usedforsecurity=False)
    digest.update(body)
    if digest.hexdigest() != oid:
        raise _damaged(oid)
    return kind, body


def _inflate(stored: bytes) -> tuple[str, bytes]:
    """Return kind and content of a compressed object; never decompress more than the size that its header gives.

    Raises:
        ValueError, zlib.error: it is damaged, or larger than MAX_OBJECT_BYTES.
    """
    stream = zlib.decompressobj()
    header, end, start = stream.decompress(stored, _MAX_HEADER_BYTES).partition(b"\0")
    match = _HEADER.fullmatch(header)
    if not end or match is None or (size := int(match["size"])) > MAX_OBJECT_BYTES or len(start) > size:
        raise ValueError("invalid header")
    body = start + stream.decompress(stream.unconsumed_tail, size - len(start) + 1)
    if len(body) != size or not stream.eof:
        raise ValueError("wrong size")
    return match["kind"].decode(), body


class LooseReader(pygit2.OdbBackend):
    """A read-only libgit2 backend for loose objects, used by libgit2's own walks before its built-in backend."""

    def __init__(self, objects_directory: str) -> None:
        super().__init__()
        self._directory = objects_directory

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Return type code and bytes of an object; on KeyError libgit2 tries the packs.

        Raises:
            Corrupt, Inaccessible: the file is damaged or cannot be read.
        """
        try:
            found = find_loose(self._directory, Oid(str(oid)))
        except OSError as error:
            raise refusal(f"read object {oid}", self._directory, error) from error
        if found is None:
            raise KeyError(str(oid))
        return CODES[found[0]], found[1]

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        """Return True if the object has a file."""
        name = str(oid)
        return os.path.exists(f"{self._directory}/{name[:2]}/{name[2:]}")

    def refresh_cb(self) -> None:
        """Do nothing: files are looked up each time. Without this method libgit2 would not look for new packs."""


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} is damaged", hint="see: scopes verify")


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
        from isal.isal_zlib import compressobj

        return compressobj(_FAST_LEVEL)
    except ImportError:
        return zlib.compressobj(_LEVEL)
