"""Transcripts that lie compressed: read as if they were not, so that all positions are those of the plain text.

Codex compresses rollouts that are a while old, and puts `.zst` behind the name.
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
    """Open a compressed file for reading its plain bytes from the beginning."""
    return BufferedReader(zstd.ZstdFile(path), _BLOCK_BYTES)


def plain_size(path: str, compressed: int) -> int:
    """Count the plain bytes of a file that has `compressed` bytes on disk.

    Raises:
        CannotImport: it is damaged or cut off, or more than a thousand times as large as it looks.
    """
    size = 0
    try:
        with open_plain(path) as stream:
            while block := stream.read(_BLOCK_BYTES):
                size += len(block)
                if size > max(_UNSUSPICIOUS_BYTES, compressed * MAX_RATIO):
                    raise CannotImport(f"{path} unpacks to too much", hint="unpack it yourself, then import that")
    except (zstd.ZstdError, EOFError) as error:
        raise CannotImport(
            f"{path} is damaged: it cannot be unpacked", hint="get it again from where it came"
        ) from error
    return size
