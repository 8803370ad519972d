"""Overwrite records of purged messages in the bytes of a transcript; the other bytes keep their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_MARK: Final = b'{"purged":true}'
_LINE_END: Final = b"\n"


class Span(NamedTuple):
    """Where a record begins in a source, and how long it is, in bytes."""

    offset: int
    length: int


class PurgedSpans(NamedTuple):
    """What is overwritten in a source: whole records, and texts within others; both ascending."""

    records: Sequence[Span] = ()
    texts: Sequence[Span] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.texts)


NO_SPANS: Final = PurgedSpans()


def blank_records(chunks: Iterable[bytes], spans: Iterable[Span], texts: Iterable[Span] = ()) -> Iterator[bytes]:
    """Yield the chunks of a source with the records in ascending spans overwritten; sizes stay as they are.

    A record becomes a JSON object of the same length that says that it was purged, or blanks if it is too short.

    texts: spans of which only blanks are left: what is in the quotation marks of a text in a record that stays
    """
    waiting = sorted([(span, _MARK) for span in spans if span.length] + [(span, b"") for span in texts if span.length])
    start = 0
    for chunk in chunks:
        end, data = start + len(chunk), bytearray(chunk)
        for span, mark in waiting:
            if span.offset >= end:
                break
            if span.offset + span.length > start:
                _overwrite(data, span, start, mark)
        waiting = [each for each in waiting if each[0].offset + each[0].length > end]
        yield bytes(data)
        start = end


def _overwrite(data: bytearray, span: Span, start: int, mark: bytes) -> None:
    first, last = max(span.offset - start, 0), min(span.offset + span.length - start, len(data))
    ends_line = last == span.offset + span.length - start and bytes(data[last - 1 : last]) == _LINE_END
    text = mark if first == span.offset - start and last - first > len(mark) else b""
    data[first:last] = text.ljust(last - first)
    if ends_line:
        data[last - 1 : last] = _LINE_END
