"""Read and write lines on file descriptors, without a limit of the length that a pipe would set."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from scopes.errors import Refused
from scopes.server.acp.options import MAX_LINE_BYTES

_READ_BYTES = 1 << 16
_CLOSE_SECONDS = 1.0


def read_lines(descriptor: int, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield the lines of a descriptor, each with its newline; a last line may have none.

    Raises:
        Refused: a line is longer than `max_bytes`.
        OSError: the descriptor cannot be read.
    """
    pieces: list[bytes] = []  # of a line that has not ended
    length = 0
    while data := os.read(descriptor, _READ_BYTES):
        *ended, rest = data.split(b"\n")
        for piece in ended:
            yield b"".join([*pieces, piece, b"\n"])
            pieces, length = [], 0
        if rest:
            pieces.append(rest)
            length += len(rest)
            if length > max_bytes:
                raise Refused(f"a message is longer than {max_bytes:,} bytes", hint="raise the limit: --max-line-mb N")
    if pieces:
        yield b"".join(pieces)


class LineWriter:
    """Writes whole lines to a descriptor from several threads; after an error nothing is written any more."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self.is_open = True

    def write(self, line: bytes) -> bool:
        """Write a line as it is; return False if the reader is gone."""
        with self._lock:
            rest = memoryview(line)
            while rest and self.is_open:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except OSError:
                    self.is_open = False
        return self.is_open

    def close(self) -> None:
        """Close the descriptor, so that the reader sees the end; not while another thread is stuck in a write."""
        self.is_open = False
        if self._lock.acquire(timeout=_CLOSE_SECONDS):
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1
            self._lock.release()
