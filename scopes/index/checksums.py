"""Checksums of a database file of the index, in blocks, in a file next to it: stock SQLite has none.

A flipped bit in a key or in a list of occurrences makes SQLite miss rows without an error. `verify` therefore compares
the file with its checksums before it is used: all of it if the file is small or another program has written it since
(by its size, times and inode), otherwise a random part of it, because reading a large file takes longer than a search.
An answer without a match is reason to compare all of it.

A block is pending if its content may still move from SQLite's write-ahead log into the file; it is not compared.

SQLite's locks end when this process closes any descriptor of the file, so call these functions without a connection
that writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import sqlite3
import struct
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from scopes.regular_file import open_descriptor, read_regular

SUFFIX: Final = "-sums"
_BLOCK_BYTES: Final = 1 << 16
_WHOLE_BYTES: Final = 4 << 20  # a file up to this size is always compared; a few milliseconds
_SAMPLE_BYTES: Final = 2 << 20
_MAX_BYTES: Final = 64 << 20  # of the file of checksums
_PENDING: Final = 1 << 32  # no CRC has this value
_HEADER: Final = struct.Struct(">8s4Q")
_MAGIC: Final = b"scopsum1"
_CHECK: Final = struct.Struct(">I")
_LOG_HEADER_BYTES: Final = 32
_FRAME: Final = struct.Struct(">I20x")
_PAUSE_SECONDS: Final = 0.01


class Sums(NamedTuple):
    """The checksums of a file, and the stamp that it had when they were last known to be right."""

    stamp: tuple[int, int, int, int]
    blocks: array[int]


class IndexLocked(sqlite3.OperationalError):
    """Another process holds the lock of a database file."""


@contextmanager
def hold_lock(path: str, timeout: float, *, exclusive: bool) -> Iterator[None]:
    """Hold the lock that keeps a database file and its checksums consistent; `timeout` is in seconds.

    Raises:
        IndexLocked: another process holds it longer than that.
        OSError: the lock file cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path + "-lock", flags, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise IndexLocked("the index is locked") from None
                time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        os.close(descriptor)


def verify(path: str, *, whole: bool = False) -> Sums | None:
    """Compare a database file with its checksums; return them, or None if they differ, are damaged or missing.

    whole: compare all of it in any case.
    """
    sums = _load(path)
    if sums is None or not os.path.exists(path):
        return None
    pending = set(logged_blocks(path))
    descriptor = open_descriptor(path)
    try:
        stamp = _stamp(descriptor)
        size = stamp[1]
        if whole or stamp != sums.stamp or size <= _WHOLE_BYTES:
            numbers = range(len(sums.blocks))
        else:
            first = random.randrange(max(1, len(sums.blocks) - _SAMPLE_BYTES // _BLOCK_BYTES + 1))  # noqa: S311 - no secret
            numbers = range(first, min(first + _SAMPLE_BYTES // _BLOCK_BYTES, len(sums.blocks)))
        for number in numbers:
            is_moving = sums.blocks[number] == _PENDING or number in pending
            if not is_moving and _checksum(descriptor, number) != sums.blocks[number]:
                return None
        if len(sums.blocks) != _count(size) and not pending and _PENDING not in sums.blocks:
            return None
        if stamp != sums.stamp and not pending:
            with contextlib.suppress(OSError):  # the next call compares all of it again
                record(path, sums, ())
    finally:
        os.close(descriptor)
    return sums


def logged_blocks(path: str) -> list[int]:
    """Return the blocks of which SQLite's write-ahead log has a page, valid or not; none if there is no log.

    The frames of the log are read without their checksums: too many blocks do no harm.
    """
    try:
        descriptor = open_descriptor(path + "-wal")
    except FileNotFoundError:
        return []
    found: set[int] = set()
    with open(descriptor, "rb") as log:
        header = log.read(_LOG_HEADER_BYTES)
        if len(header) < _LOG_HEADER_BYTES:
            return []
        page_bytes = int.from_bytes(header[8:12], "big")
        if page_bytes & (page_bytes - 1) or not 512 <= page_bytes <= 65536:
            return []  # SQLite ignores such a log
        while len(frame := log.read(_FRAME.size)) == _FRAME.size:
            found.add((_FRAME.unpack(frame)[0] - 1) * page_bytes // _BLOCK_BYTES)
            log.seek(page_bytes, os.SEEK_CUR)
    return sorted(found)


def record(path: str, known: Sums | None, changed: Iterable[int], *, complete: bool = True) -> None:
    """Save the checksums after a write.

    known: the checksums before it; None to compute all.
    changed: the blocks that were written.
    complete: False if a reader kept SQLite from moving all pages into the file; then these blocks are pending.

    Raises:
        OSError: they cannot be saved.
    """
    descriptor = open_descriptor(path)
    try:
        stamp = _stamp(descriptor)
        blocks = array("Q") if known is None else known.blocks[: _count(stamp[1])]
        renew = {*changed, *range(len(blocks), _count(stamp[1]))}
        renew.update(number for number, value in enumerate(blocks) if value == _PENDING)
        blocks.extend([_PENDING] * (_count(stamp[1]) - len(blocks)))
        for number in sorted(renew):
            if number < len(blocks):
                blocks[number] = _checksum(descriptor, number) if complete else _PENDING
    finally:
        os.close(descriptor)
    _save(path, Sums(stamp, blocks))


def _load(path: str) -> Sums | None:
    try:
        data = read_regular(path + SUFFIX, _MAX_BYTES)
    except OSError:
        return None
    content, check = data[: -_CHECK.size], data[-_CHECK.size :]
    if len(content) < _HEADER.size or _CHECK.pack(zlib.crc32(content)) != check:
        return None
    magic, *stamp = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        return None
    blocks = array("Q")
    blocks.frombytes(content[_HEADER.size :])
    inode, size, modified, changed = stamp
    return Sums((inode, size, modified, changed), blocks)


def _save(path: str, sums: Sums) -> None:
    content = _HEADER.pack(_MAGIC, *sums.stamp) + sums.blocks.tobytes()
    temporary = f"{path}{SUFFIX}-{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(content + _CHECK.pack(zlib.crc32(content)))
        os.replace(temporary, path + SUFFIX)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _stamp(descriptor: int) -> tuple[int, int, int, int]:
    status = os.fstat(descriptor)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _count(size: int) -> int:
    """Return the number of blocks of a file; the last one may be shorter."""
    return -(-size // _BLOCK_BYTES)


def _checksum(descriptor: int, number: int) -> int:
    return zlib.crc32(os.pread(descriptor, _BLOCK_BYTES, number * _BLOCK_BYTES))
