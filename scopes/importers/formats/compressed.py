"""Read zstd-compressed transcripts as plain bytes; all offsets are those of the plain text.

Codex compresses older rollouts and appends `.zst` to their names.
"""

from __future__ import annotations

import sys
from io import BufferedReader
from typing import BinaryIO

from scopes.errors import CannotImport

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIX = ".zst"
MAX_RATIO = 1000
_BLOCK_BYTES = 1 << 20
_UNSUSPICIOUS_BYTES = 64 << 20


def open_plain(path: str) -> BinaryIO:
    """Open a compressed file for reading its plain bytes."""
    return BufferedReader(zstd.ZstdFile(path), _BLOCK_BYTES)


def plain_size(path: str, compressed: int) -> int:
    """Return the plain size of a file that has `compressed` bytes on disk.

    Raises:
        CannotImport: it is damaged or truncated, or its plain size is over MAX_RATIO times as large.
    """
    size = 0
    try:
        with open_plain(path) as stream:
            while block := stream.read(_BLOCK_BYTES):
                size += len(block)
                if size > max(_UNSUSPICIOUS_BYTES, compressed * MAX_RATIO):
                    raise CannotImport(
                        f"{path} is too large when decompressed", hint="decompress it yourself and import the result"
                    )
    except (zstd.ZstdError, EOFError) as error:
        raise CannotImport(
            f"{path} is damaged: it cannot be decompressed", hint="copy it again from where it came from"
        ) from error
    return size
