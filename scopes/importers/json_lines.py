r"""Sources of JSON lines: every record with the bytes it stands in, whatever the lines look like.

Lines end at `\\n` alone: U+2028 inside a string is no line end. A line may hold several documents glued together, which
real agents write; a line that cannot be read is a record with a problem, and the reading goes on behind it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from scopes.importers.exact_json import decode, decode_first
from scopes.importers.projection import Span

MAX_LINE_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """One document of a source; with a `problem` it has no value. `line` counts from 1."""

    line: int
    span: Span
    value: Any = None
    problem: str | None = None


def walk_records(stream: BinaryIO, size: int) -> Iterator[Record]:
    """Yield the records of the first `size` bytes of a stream; their spans lie side by side and cover all of it.

    Blank lines belong to the record before them, or at the beginning to the one after.
    """
    held: Record | None = None
    start = offset = number = 0
    while offset < size:
        line, problem = _read_line(stream, size - offset)
        if not line and not problem:
            break
        number += 1
        length = problem[1] if problem else len(line)
        offset += length
        if not problem and not line.strip():
            if held is not None:
                held = Record(held.line, Span(held.span.offset, offset - held.span.offset), held.value, held.problem)
                start = offset
            continue
        ended = problem is not None or line.endswith(b"\n")
        records = (
            [Record(number, Span(start, offset - start), None, problem[0])]
            if problem
            else _split(line, number, Span(start, offset - start), ended=ended)
        )
        for record in records:
            if held is not None:
                yield held
            held = record
        start = offset
    if held is not None:
        yield held


def _read_line(stream: BinaryIO, left: int) -> tuple[bytes, tuple[str, int] | None]:
    """Read one line; of one that is too long only the length, with the problem."""
    line = stream.readline(min(MAX_LINE_BYTES + 1, left))
    if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
        return line, None
    length = len(line)
    while length < left and line and not line.endswith(b"\n"):
        line = stream.readline(min(_BLOCK_BYTES, left - length))
        length += len(line)
    return b"", (f"the line is longer than {MAX_LINE_BYTES >> 20} MiB", length)


def _split(line: bytes, number: int, span: Span, *, ended: bool) -> list[Record]:
    """Read the documents of one line; `span` also covers blank lines before it."""
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
        return _split_glued(text, number, span, ended=ended)


def _split_glued(text: str, number: int, span: Span, *, ended: bool) -> list[Record]:
    """Read documents that follow each other without a line end; what cannot be read is the last record's problem."""
    found: list[tuple[Any, int]] = []
    position = len(text) - len(text.lstrip())
    problem = None
    while position < len(text):
        try:
            value, position = decode_first(text, position)
        except (ValueError, RecursionError):
            problem = "not valid JSON" if ended else "cut off: its writer had not finished it"
            break
        position += len(text[position:]) - len(text[position:].lstrip())
        found.append((value, position))
    records = []
    begin, consumed = span.offset, span.length - len(text.encode("utf-8"))
    for index, (value, end) in enumerate(found):
        last = index == len(found) - 1 and problem is None
        stop = span.offset + (span.length if last else consumed + len(text[:end].encode("utf-8")))
        records.append(Record(number, Span(begin, stop - begin), value))
        begin = stop
    if problem is not None:
        records.append(Record(number, Span(begin, span.offset + span.length - begin), None, problem))
    return records
