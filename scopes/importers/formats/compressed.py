"""Read zstd-compressed transcripts as plain bytes; all offsets are those of the plain text.

Codex compresses older rollouts and appends `.zst` to their names.
"""

from __future__ import annotations

import errno
import sys
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO

from scopes.errors import CannotImport
from scopes.regular_file import open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIX = ".zst"
MAX_RATIO = 1000
_DAMAGED = "it cannot be decompressed"
_BLOCK_BYTES = 1 << 20
_UNSUSPICIOUS_BYTES = 64 << 20


def open_plain(path: str) -> BinaryIO:
    """Open a compressed file for reading its plain bytes; reading damaged bytes raises OSError."""
    return BufferedReader(_PlainBytes(path), _BLOCK_BYTES)


class _PlainBytes(RawIOBase):
    """The plain bytes of a compressed file, which it owns and closes."""

    def __init__(self, path: str) -> None:
        self._file = open_regular(path)
        self._plain = zstd.ZstdFile(self._file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            return self._plain.readinto(buffer)
        except (zstd.ZstdError, EOFError) as error:
            raise OSError(errno.EBADMSG, _DAMAGED) from error

    def close(self) -> None:
        self._plain.close()
        self._file.close()
        super().close()


def plain_size(path: str, compressed: int) -> int:
    """Return the plain size of a file that has `compressed` bytes on disk.

    Raises:
        CannotImport: it is damaged or truncated, or its plain size is over MAX_RATIO times as large.
        OSError: it cannot be read.
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
    except OSError as error:
        if error.errno != errno.EBADMSG:
            raise
        raise CannotImport(
            f"{path} is damaged: it cannot be decompressed", hint="copy it again from where it came from"
        ) from error
    return size
