r"""Read JSON lines: every document with its byte range, also from damaged files.

Lines end at `\n` only, not at U+2028. A line may contain several documents without a separator, as some agents write
them. A line that cannot be read becomes a record with a problem, and reading continues after it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.lossless_json import NOT_DECODED, decode, decode_fast, decode_first, describe_error

MAX_LINE_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20
_WHITESPACE = re.compile(r"[\s\0]*")  # a crash leaves blocks of NUL in a file
CUT_OFF = "truncated (incomplete last record)"


class Record(NamedTuple):
    """One document of a source; if it has a `problem`, it has no value. An import makes one for every line.

    line: counts from 1; two documents on one line have the same
    number: counts documents from 0; no two of a source have the same, so a draft's key can be made of it
    """

    line: int
    number: int
    span: ByteRange
    value: Any = None
    problem: str | None = None


def walk_records(stream: BinaryIO, size: int, is_known: Callable[[bytes], bool] | None = None) -> Iterator[Record]:
    """Yield the records of the first `size` bytes of a stream; their spans are adjacent and cover all of it.

    Blank lines belong to the previous record, at the beginning to the first one. Whitespace alone yields no record. A
    line for which `is_known` returns True, which must be one document, becomes a record without a value.
    """
    held: Record | None = None
    start = offset = number = count = 0
    while offset < size:
        line, length = _read_line(stream, size - offset)
        if not length:
            break
        number += 1
        offset += length
        span = ByteRange(start, offset - start)
        value = NOT_DECODED if line is None or is_known is not None else decode_fast(line)
        if value is not NOT_DECODED:  # nearly every line
            if held is not None:
                yield held
            held = Record(number, count, span, value)
            count += 1
            start = offset
            continue
        known = is_known is not None and line is not None and is_known(line)
        records = [Record(number, count, span)] if known else _parse_line(line, number, count, span)
        count += len(records)
        if held is not None and not records:
            held = held._replace(span=ByteRange(held.span.offset, offset - held.span.offset))
        for record in records:
            if held is not None:
                yield held
            held = record
        start = offset if held is not None else start
    if held is not None:
        yield held


def _read_line(stream: BinaryIO, left: int) -> tuple[bytes | None, int]:
    """Return a line and its length; None and the length if it is too long."""
    line = stream.readline(min(MAX_LINE_BYTES + 1, left))
    if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
        return line, len(line)
    length = len(line)
    while length < left and line and not line.endswith(b"\n"):
        line = stream.readline(min(_BLOCK_BYTES, left - length))
        length += len(line)
    return None, length


def _parse_line(line: bytes | None, number: int, count: int, span: ByteRange) -> list[Record]:
    """Parse the documents of one line; `span` includes blank lines before it, `count` records come before."""
    if line is None:
        return [Record(number, count, span, None, f"the line is longer than {MAX_LINE_BYTES >> 20} MiB")]
    value = decode_fast(line.removesuffix(b"\n"))
    if value is not NOT_DECODED:
        return [Record(number, count, span, value)]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = CUT_OFF if error.reason == "unexpected end of data" else "not valid UTF-8"
        return [Record(number, count, span, None, reason)]
    if number == 1:
        text = text.removeprefix(codecs.BOM_UTF8.decode())
    try:
        return [Record(number, count, span, decode(text))]
    except RecursionError as error:
        return [Record(number, count, span, None, describe_error(error))]
    except ValueError:
        return _parse_adjacent(text, number, count, span, "not valid JSON" if text.endswith("\n") else CUT_OFF)


def _parse_adjacent(text: str, number: int, count: int, span: ByteRange, reason: str) -> list[Record]:
    """Parse adjacent documents; the part that cannot be parsed is the last record."""
    records: list[Record] = []
    begin, done = span.offset, 0
    leading = span.length - len(text.encode("utf-8"))
    position = _skip_whitespace(text, 0)
    while position < len(text):
        value, problem = None, None
        try:
            value, position = decode_first(text, position)
        except (ValueError, RecursionError) as error:
            problem, position = describe_error(error, reason), len(text)
        position = _skip_whitespace(text, position)
        length = leading + len(text[done:position].encode("utf-8"))
        records.append(Record(number, count + len(records), ByteRange(begin, length), value, problem))
        begin, done, leading = begin + length, position, 0
    return records


def _skip_whitespace(text: str, position: int) -> int:
    found = _WHITESPACE.match(text, position)
    return found.end() if found else position
