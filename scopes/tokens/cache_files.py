"""Read and write files of the cache directory: atomic writes, readable by the owner only; reads that never block."""

from __future__ import annotations

import gzip
import os
import stat
import zlib

_MAX_BYTES = 64 << 20


def write_file(path: str, data: bytes) -> None:
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


def read_cache_file(path: str) -> bytes | None:
    """Read at most 64 MiB of a regular file, decompressed if it ends in `.gz`; None if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return (gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file).read(_MAX_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
