"""Which records of a transcript go with purged messages: their own, and those beside them that quote them.

Some agents write what was said twice: as the message, and as an event or a title.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from scopes.history.blank_records import Span
from scopes.history.quotes import Quotes, is_json
from scopes.history.sources import read_spans


class RecordSpan(NamedTuple):
    """Where a record is, and the message that it became, if any."""

    span: Span
    message: str | None


def list_purged_spans(
    records: Iterable[RecordSpan],
    has_message: Callable[[str], bool],
    quotes: Quotes,
    read: Callable[[], Iterable[bytes]],
) -> list[Span]:
    """Return the spans of purged messages, and of records without a message that quote one; ascending.

    read: returns the bytes of the whole source, in chunks
    """
    known = list(records)
    spans = [each.span for each in known if each.message is not None and has_message(each.message)]
    others = sorted(each.span for each in known if each.message is None and each.span.length)
    pieces = read_spans(read(), [(span.offset, span.length) for span in others]) if quotes else ()
    for span, data in zip(others, pieces, strict=False):
        spans += _walk_quoting(span, data, quotes)
    return sorted(spans)


def _walk_quoting(span: Span, data: bytes, quotes: Quotes) -> Iterator[Span]:
    """Yield a span that quotes, or those of its lines that do: what became no message may be several records."""
    found, offset = [], span.offset
    lines = [] if is_json(data) else data.splitlines(keepends=True)
    for line in lines if len(lines) > 1 else ():
        if quotes.are_in_record(line):
            found.append(Span(offset, len(line)))
        offset += len(line)
    if found:
        yield from found
    elif quotes.are_in_record(data):
        yield span
