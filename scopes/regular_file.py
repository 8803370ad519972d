"""Open, read and sync files: never wait for a pipe, read a device, or read without end.

Python's `open` waits for ever on a named pipe without a writer, and reads `/dev/zero` until the memory is exhausted.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

MAX_CONFIG_BYTES = 1 << 20
_MAX_PRIVATE_BYTES = 64 << 20
MAX_PACKED_BYTES = 256 << 20  # of `packed-refs`: about two million refs
UNUSABLE = {errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.ENODEV}  # errors of the entry itself


class UnusableFile(OSError):
    """The path is not a regular file, or the file is larger than its kind can be; `strerror` says so."""


def open_descriptor(path: str) -> int:
    """Open a regular file for reading and return its descriptor; symbolic links are followed.

    Raises:
        UnusableFile: it is a directory, a named pipe, a socket, a device, or a loop of symbolic links.
        OSError: it cannot be opened.
    """
    return _open(path)[0]


def _open(path: str) -> tuple[int, int]:
    """Return the descriptor of a regular file and its size."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in UNUSABLE:
            raise UnusableFile(error.errno, error.strerror, path) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _irregular(stat.S_IFMT(status.st_mode), path)
    return descriptor, status.st_size


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading bytes; raise as `open_descriptor`."""
    return open(open_descriptor(path), "rb")


def read_regular(path: str, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises:
        UnusableFile: it is not a regular file, or it is larger.
        OSError: it cannot be read.
    """
    descriptor, size = _open(path)
    try:
        if size > limit:
            raise _too_large(limit, path)
        content = os.read(descriptor, size + 1)
        if len(content) != size:  # it has changed since, or is larger than one read returns
            while len(content) <= limit and (more := os.read(descriptor, limit + 1 - len(content))):
                content += more
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise _too_large(limit, path)
    return content


def sync(path: str) -> None:
    """Flush the content of a file, or the entries of a directory, to the disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_regular(path: str, limit: int | None = None, *, allow_directory: bool = False) -> None:
    """Check a file that another library opens: it must be missing, or a regular file of at most `limit` bytes.

    Raises:
        UnusableFile: it is something else, or larger.
        OSError: it cannot be looked at.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno in UNUSABLE:
            raise UnusableFile(error.errno, error.strerror, path) from error
        raise
    if allow_directory and stat.S_ISDIR(status.st_mode):
        return
    if not stat.S_ISREG(status.st_mode):
        raise _irregular(stat.S_IFMT(status.st_mode), path)
    if limit is not None and status.st_size > limit:
        raise _too_large(limit, path)


def check_tree(path: str) -> None:
    """Check the files that another program reads below a directory: they must be regular files or directories.

    Symbolic links are followed, also to directories, each directory once. Links that lead nowhere are left out, and
    directories that are missing or cannot be listed.

    Raises:
        UnusableFile: there is a named pipe, a socket or a device, at which the program would wait or read for ever.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        try:
            entries = os.scandir(directory)
        except OSError:
            continue
        with entries:
            for entry in entries:
                if entry.is_symlink():
                    waiting += _follow(entry.path, seen)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    check_regular(entry.path)


def _follow(path: str, seen: set[tuple[int, int]]) -> list[str]:
    """Return the directory that a link leads to, unless it was seen before; check what else it may lead to."""
    try:
        status = os.stat(path)
    except OSError:
        return []  # it leads nowhere, or to itself
    place = (status.st_dev, status.st_ino)
    if stat.S_ISDIR(status.st_mode) and place not in seen:
        seen.add(place)
        return [path]
    check_regular(path, allow_directory=True)
    return []


def _irregular(kind: int, path: str) -> UnusableFile:
    names = {
        stat.S_IFDIR: (errno.EISDIR, "it is a directory"),
        stat.S_IFIFO: (errno.ENXIO, "it is a named pipe"),
        stat.S_IFSOCK: (errno.ENXIO, "it is a socket"),
    }
    number, name = names.get(kind, (errno.ENODEV, "it is a device"))
    return UnusableFile(number, name, path)


def _too_large(limit: int, path: str) -> UnusableFile:
    shown = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit} bytes"
    return UnusableFile(errno.EFBIG, f"it is larger than {shown}", path)


def write_private_file(path: str, data: bytes) -> None:
    """Write a file with mode 0600 atomically, and create its directories.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


def read_private_file(path: str) -> bytes | None:
    """Read at most 64 MiB of a file, decompressed if it ends in `.gz`; None if it cannot be read."""
    import gzip
    import zlib

    try:
        with open_regular(path) as file:
            return (gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file).read(_MAX_PRIVATE_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
