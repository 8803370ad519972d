"""Which records of a transcript go with purged messages: their own, and those beside them that quote them.

Some agents write what was said twice: as the message, and as an event or a title, or in the record of another message,
as the prompt of a sub-agent beside its result.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from scopes.history.blank_records import PurgedSpans, Span
from scopes.history.purged import Purged
from scopes.history.quotes import Quotes, is_in_file, is_json
from scopes.history.sources import read_spans

_SESSION_FIELDS: Final = frozenset({"cwd", "gitBranch", "git_branch"})  # fields with where the session ran
_TEXT: Final = re.compile(rb'(?P<text>"(?:[^"\\]|\\.)*")(?P<end>\s*:)?', re.DOTALL)


class RecordSpan(NamedTuple):
    """Where a record is, and the message that it became, if any."""

    span: Span
    message: str | None


def list_purged_spans(
    records: Iterable[RecordSpan],
    purged: Purged,
    quotes: Quotes,
    read: Callable[[], Iterable[bytes]],
    read_message: Callable[[str], Iterable[bytes]],
) -> PurgedSpans:
    """Return the spans of purged messages and records, of records without a message that quote one, and of other texts.

    A text goes that quotes a purged message where the message of the record, which stays, does not.

    read: returns the bytes of the whole source, in chunks
    read_message: returns what is stored of a message that stays, in all its forms
    """
    owners: dict[Span, list[str]] = {}
    for span, message in records:
        owners.setdefault(span, []).extend(() if message is None else [message])
    spans = [span for span, found in owners.items() if any(map(purged.has_message, found))]
    others = sorted({*owners}.difference(spans, (span for span in owners if not span.length)))
    texts: list[Span] = []
    is_read = quotes or purged.conversations
    pieces = read_spans(read(), [(span.offset, span.length) for span in others]) if is_read else ()
    for span, data in zip(others, pieces, strict=False):
        if not owners[span]:
            listed = [record for record, line in _split_records(span, data) if purged.has_record(line)]
            spans += listed or _walk_quoting(span, data, quotes)
        elif quotes.are_in_bytes(data):
            kept = b"\0".join(each for message in owners[span] for each in read_message(message))
            for record, line in _split_records(span, data):
                texts += _walk_texts(record, line, quotes, kept) if is_json(line) else ()
    return PurgedSpans(sorted(spans), texts)


def _walk_texts(span: Span, data: bytes, quotes: Quotes, kept: bytes) -> Iterator[Span]:
    """Yield where the texts in a JSON record are that quote, without their quotation marks; names, too.

    kept: the stored messages of the record
    """
    name = ""
    for match in _TEXT.finditer(data) if quotes.are_in_record(data) else ():
        text = json.loads(match["text"])
        if match["end"] is None and name in _SESSION_FIELDS:
            continue
        lines = set(quotes.walk_found(text.encode("utf-8", "surrogatepass")))
        if not all(is_in_file(line, kept) for line in lines):
            yield Span(span.offset + match.start("text") + 1, len(match["text"]) - 2)
        if match["end"] is not None:
            name = text


def _walk_quoting(span: Span, data: bytes, quotes: Quotes) -> Iterator[Span]:
    """Yield a span that quotes, or those of its lines that do: what became no message may be several records."""
    records = _split_records(span, data)
    found = [record for record, line in records if quotes.are_in_record(line)] if len(records) > 1 else []
    if found:
        yield from found
    elif quotes.are_in_record(data):
        yield span


def _split_records(span: Span, data: bytes) -> list[tuple[Span, bytes]]:
    """Return the lines of a span with where they are; the whole span if it is one JSON document."""
    if is_json(data):
        return [(span, data)]
    lines = data.splitlines(keepends=True)
    ends = itertools.accumulate(map(len, lines))
    return [(Span(span.offset + end - len(line), len(line)), line) for line, end in zip(lines, ends, strict=True)]
