"""Read a text file by lines, and collect lines to blocks with their byte range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from scopes.importers.formats.events import ByteRange

INVALID_TEXT = "not valid UTF-8, shown with replacement characters"


class Line(NamedTuple):
    """A line with its end; the last line of a file that is being written may have none."""

    offset: int
    data: bytes

    @property
    def is_cut(self) -> bool:
        """True if the file ends within the line."""
        return not self.data.endswith(b"\n")

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
    offset = 0
    while offset < size and (data := stream.readline(size - offset)):
        yield Line(offset, data)
        offset += len(data)


class Block:
    """Adjacent lines that belong together; `kind` says what they are."""

    def __init__(self, kind: str, line: Line) -> None:
        self.kind = kind
        self.offset = line.offset
        self._lines = [line.data]

    def add(self, line: Line) -> None:
        """Add the next line."""
        self._lines.append(line.data)

    @property
    def data(self) -> bytes:
        """The bytes of all lines."""
        return b"".join(self._lines)

    @property
    def span(self) -> ByteRange:
        """The byte range of the lines."""
        return ByteRange(self.offset, sum(map(len, self._lines)))

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
