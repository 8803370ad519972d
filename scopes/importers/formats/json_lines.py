r"""Sources of JSON lines: every record with the bytes it stands in, whatever the lines look like.

Lines end at `\n` alone: U+2028 inside a string is no line end. A line may hold several documents glued together, which
real agents write; a line that cannot be read is a record with a problem, and the reading goes on behind it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from scopes.importers.formats.events import Span
from scopes.importers.formats.lossless_json import decode, decode_first

MAX_LINE_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20
_BLANKS = re.compile(r"\s*")
_CUT_OFF = "cut off: its writer had not finished it"


@dataclass(frozen=True, slots=True)
class Record:
    """One document of a source; with a `problem` it has no value. `line` counts from 1."""

    line: int
    span: Span
    value: Any = None
    problem: str | None = None


def walk_records(stream: BinaryIO, size: int) -> Iterator[Record]:
    """Yield the records of the first `size` bytes of a stream; their spans lie side by side and cover all of it.

    Blank lines belong to the record before them, or at the beginning to the one after; nothing but blanks is no record.
    """
    held: Record | None = None
    start = offset = number = 0
    while offset < size:
        line, length = _read_line(stream, size - offset)
        if not length:
            break
        number += 1
        offset += length
        span = Span(start, offset - start)
        records = _split(line, number, span)
        if held is not None and not records:
            held = replace(held, span=Span(held.span.offset, offset - held.span.offset))
        for record in records:
            if held is not None:
                yield held
            held = record
        start = offset if held is not None else start
    if held is not None:
        yield held


def _read_line(stream: BinaryIO, left: int) -> tuple[bytes | None, int]:
    """Read one line; of one that is too long only the length."""
    line = stream.readline(min(MAX_LINE_BYTES + 1, left))
    if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
        return line, len(line)
    length = len(line)
    while length < left and line and not line.endswith(b"\n"):
        line = stream.readline(min(_BLOCK_BYTES, left - length))
        length += len(line)
    return None, length


def _split(line: bytes | None, number: int, span: Span) -> list[Record]:
    """Read the documents of one line; `span` also covers blank lines before it."""
    if line is None:
        return [Record(number, span, None, f"the line is longer than {MAX_LINE_BYTES >> 20} MiB")]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return [Record(number, span, None, "not valid UTF-8")]
    if number == 1:
        text = text.removeprefix(codecs.BOM_UTF8.decode())
    try:
        return [Record(number, span, decode(text))]
    except RecursionError:
        return [Record(number, span, None, "nested too deeply")]
    except ValueError:
        return _split_glued(text, number, span, "not valid JSON" if text.endswith("\n") else _CUT_OFF)


def _split_glued(text: str, number: int, span: Span, trouble: str) -> list[Record]:
    """Read documents that follow each other without a line end; what cannot be read is the last record's problem."""
    records: list[Record] = []
    begin, done = span.offset, 0
    ahead = span.length - len(text.encode("utf-8"))
    position = _behind_blanks(text, 0)
    while position < len(text):
        value, problem = None, None
        try:
            value, position = decode_first(text, position)
        except (ValueError, RecursionError):
            problem, position = trouble, len(text)
        position = _behind_blanks(text, position)
        length = ahead + len(text[done:position].encode("utf-8"))
        records.append(Record(number, Span(begin, length), value, problem))
        begin, done, ahead = begin + length, position, 0
    return records


def _behind_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position
