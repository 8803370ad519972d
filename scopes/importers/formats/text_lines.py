"""Read a text file by lines with a bounded amount of memory, and collect lines to blocks with their byte range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from scopes.importers.formats.events import ByteRange

MAX_BLOCK_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
INVALID_TEXT = "not valid UTF-8, shown with replacement characters"


class Line(NamedTuple):
    """A line with its end, or a piece of a very long one; `starts` is False for the further pieces."""

    offset: int
    data: bytes
    starts: bool = True

    @property
    def is_whole(self) -> bool:
        """True if the line has its end: the last line of a file that is being written may have none."""
        return self.data.endswith(b"\n")

    @property
    def is_cut(self) -> bool:
        """True if the file ends within the line."""
        return not self.is_whole and len(self.data) < _PIECE_BYTES

    @property
    def span(self) -> ByteRange:
        """The byte range of the line."""
        return ByteRange(self.offset, len(self.data))

    @property
    def is_blank(self) -> bool:
        """True if the line has only whitespace."""
        return not self.data.strip()


def walk_lines(stream: BinaryIO, size: int) -> Iterator[Line]:
    """Yield the lines of the first `size` bytes of a stream; together they are all of its bytes."""
    offset, starts = 0, True
    while offset < size:
        data = stream.readline(min(_PIECE_BYTES, size - offset))
        if not data:
            return
        yield Line(offset, data, starts)
        offset += len(data)
        starts = data.endswith(b"\n")


class Block:
    """Adjacent lines that belong together; `kind` says what they are."""

    __slots__ = ("_lines", "kind", "length", "offset")

    def __init__(self, kind: str, line: Line) -> None:
        self.kind = kind
        self.offset = line.offset
        self.length = 0
        self._lines: list[bytes] = []
        self.add(line)

    def add(self, line: Line) -> None:
        """Add the next line."""
        self._lines.append(line.data)
        self.length += len(line.data)

    @property
    def span(self) -> ByteRange:
        """The byte range of the lines."""
        return ByteRange(self.offset, self.length)

    @property
    def is_full(self) -> bool:
        """True if the block has so many bytes that the next line has to begin another one."""
        return self.length >= MAX_BLOCK_BYTES

    @property
    def data(self) -> bytes:
        """The bytes of all lines."""
        return b"".join(self._lines)

    @property
    def text(self) -> str:
        """The text of all lines; bytes that are no UTF-8 become replacement characters."""
        return self.data.decode("utf-8", "replace").replace("\r\n", "\n")

    @property
    def is_valid(self) -> bool:
        """True if all bytes are UTF-8."""
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True
