"""Overwrite records of purged messages in the bytes of a transcript; the other bytes keep their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_MARK: Final = b'{"purged":true}'
_LINE_END: Final = b"\n"


class Span(NamedTuple):
    """Where a record begins in a source, and how long it is, in bytes."""

    offset: int
    length: int


def blank_records(chunks: Iterable[bytes], spans: Iterable[Span]) -> Iterator[bytes]:
    """Yield the chunks of a source with the records in ascending spans overwritten; sizes stay as they are.

    A record becomes a JSON object of the same length that says that it was purged, or blanks if it is too short.
    """
    waiting = [span for span in spans if span.length]
    start = 0
    for chunk in chunks:
        end, data = start + len(chunk), bytearray(chunk)
        for span in waiting:
            if span.offset < end and span.offset + span.length > start:
                _overwrite(data, span, start)
        waiting = [span for span in waiting if span.offset + span.length > end]
        yield bytes(data)
        start = end


def _overwrite(data: bytearray, span: Span, start: int) -> None:
    first, last = max(span.offset - start, 0), min(span.offset + span.length - start, len(data))
    ends_line = last == span.offset + span.length - start and bytes(data[last - 1 : last]) == _LINE_END
    text = _MARK if first == span.offset - start and last - first > len(_MARK) else b""
    data[first:last] = text.ljust(last - first)
    if ends_line:
        data[last - 1 : last] = _LINE_END
