r"""Read the records of a source with the byte range of each, also from damaged files.

`walk_records` reads JSON lines, the fast way. `walk_stream` reads what a headless agent printed: JSON lines, an array
or one object, also indented or between lines of text. `walk_documents` finds JSON documents of any kind, one at a time,
in a file that may be larger than memory; `documents` reads lists of messages in them. What cannot be read becomes a
record with a problem, and reading goes on after it. NUL bytes, which a crash leaves in a file, count as blanks.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from io import BytesIO
from itertools import islice
from math import isfinite
from typing import Any, BinaryIO, NamedTuple

from scopes import fast_json
from scopes.importers.formats.events import ByteRange

MAX_DEPTH = 200  # as deep as a stored document may be
MAX_BYTES = 64 << 20  # of a line, and characters of a document
BLOCK_BYTES = 1 << 20
CUT_OFF = "truncated (incomplete last record)"
NOT_DECODED = object()
SHORT_ID = 8
_BLANKS = re.compile("[ \t\r\n\0\ufeff]*")
_BLANK_BYTES = b" \t\r\n\0"
_MAX_TRIES = 1000  # possible document starts that are checked after invalid bytes
_TAIL = 16  # an error this close to the end may only mean that more must be read
_SNIFFED = 40  # documents at the beginning of a source that may come before its first known record


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


def decode(text: str) -> Any:
    """Decode one JSON document as it can be stored: of repeated keys the last, infinite numbers and NaN as text.

    Raises:
        ValueError: it is not valid, or has an integer of more than 4300 digits.
        RecursionError: it is nested deeper than 200 levels.
    """
    value = _DECODER.decode(text)
    _check_depth(value, text, 0, len(text))
    return value


def decode_first(text: str, start: int) -> tuple[Any, int]:
    """Decode the document that begins at `start`; return it and its end. Raises the same as `decode`."""
    value, end = _DECODER.raw_decode(text, start)
    _check_depth(value, text, start, end)
    return value, end


def decode_object(text: object) -> dict[str, Any] | None:
    """Decode a text that is a JSON object; None if it is none."""
    try:
        value = decode(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def decode_fast(document: bytes) -> Any:
    """Decode one JSON document with msgspec as `decode` does; NOT_DECODED if msgspec is off or refuses it."""
    if fast_json.library is None:
        return NOT_DECODED
    try:
        value = _fast_decoder().decode(document)
    except (ValueError, RecursionError):  # ValueError includes the errors of msgspec
        return NOT_DECODED
    may_be_deep = document.count(b"{") + document.count(b"[") > MAX_DEPTH
    return NOT_DECODED if may_be_deep and _is_deep(value) else value


def find_text_field(document: bytes, name: str) -> Any:
    """Return a field of a JSON object that `decode` would return too, without decoding the rest.

    Return None if there is none or it is no text, NOT_DECODED if that is not certain. A document that `decode` refuses
    may have the field as well.
    """
    if fast_json.library is None:
        return NOT_DECODED
    try:
        value = _field_decoder(name).decode(document)
    except (ValueError, RecursionError):
        return NOT_DECODED
    return value.found if isinstance(value.found, str) else None


class InvalidText(NamedTuple):
    """Text of a database that is not UTF-8."""

    data: bytes


def decode_text(data: bytes) -> str | InvalidText:
    """Decode the text of a cell."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return InvalidText(data)


def describe_error(error: ValueError | RecursionError, not_json: str = "not valid JSON") -> str:
    """Return what is wrong with a document that `decode` or `decode_first` could not read."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeError):
        return "not valid UTF-8"
    return not_json if isinstance(error, json.JSONDecodeError) else "an integer has too many digits"


def _read_float(token: str) -> float | str:
    number = float(token)
    return number if isfinite(number) else token


def _check_depth(value: Any, text: str, start: int, end: int) -> None:
    """Raise RecursionError over MAX_DEPTH levels: Python's own limit depends on the caller's stack depth."""
    if text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH and _is_deep(value):
        raise RecursionError


def _is_deep(value: Any) -> bool:
    """Return True if a value has more than MAX_DEPTH levels."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        items = (container.values() if isinstance(container, dict) else container for container in level)
        level = [item for group in items for item in group if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


@cache
def _fast_decoder() -> Any:
    return fast_json.library.Decoder(float_hook=_read_float)


@cache
def _field_decoder(name: str) -> Any:
    """Return a decoder of objects with one field; msgspec reads over all others."""
    from msgspec import defstruct, field

    fields = [("found", Any, field(default=None, name=name))]
    return fast_json.library.Decoder(defstruct("OneField", fields))


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_constant=str, strict=False)
_SCANNER = json.JSONDecoder(
    parse_int=lambda _: None, parse_float=lambda _: None, parse_constant=lambda _: None, strict=False
)


def walk_records(stream: BinaryIO, size: int, is_known: Callable[[bytes], bool] | None = None) -> Iterator[Record]:
    r"""Yield the records of the first `size` bytes of JSON lines; their spans are adjacent and cover all of it.

    Lines end at `\n` only, not at U+2028. A line may have several documents without a separator, as some agents write
    them. Blank lines belong to the previous record, at the beginning to the first one. Blanks alone yield no record. A
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
    line = stream.readline(min(MAX_BYTES + 1, left))
    if len(line) <= MAX_BYTES or line.endswith(b"\n"):
        return line, len(line)
    length = len(line)
    while length < left and line and not line.endswith(b"\n"):
        line = stream.readline(min(BLOCK_BYTES, left - length))
        length += len(line)
    return None, length


def _parse_line(line: bytes | None, number: int, count: int, span: ByteRange) -> list[Record]:
    """Parse the documents of one line; `span` includes blank lines before it, `count` records come before."""
    if line is None:
        return [Record(number, count, span, None, f"the line is longer than {MAX_BYTES >> 20} MiB")]
    value = decode_fast(line.strip(_BLANK_BYTES))
    if value is not NOT_DECODED:
        return [Record(number, count, span, value)]
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = CUT_OFF if error.reason == "unexpected end of data" else "not valid UTF-8"
        return [Record(number, count, span, None, reason)]
    return _parse_documents(text, number, count, span)


def _parse_documents(text: str, number: int, count: int, span: ByteRange) -> list[Record]:
    """Parse the documents of a line, mostly one; the part that cannot be parsed is the last record."""
    records: list[Record] = []
    not_json = "not valid JSON" if text.endswith("\n") else CUT_OFF
    begin, done = span.offset, 0
    leading = span.length - len(text.encode("utf-8"))
    position = skip_blanks(text, 0)
    while position < len(text):
        value, problem = None, None
        try:
            value, position = decode_first(text, position)
        except (ValueError, RecursionError) as error:
            problem, position = describe_error(error, not_json), len(text)
        position = skip_blanks(text, position)
        length = leading + len(text[done:position].encode("utf-8"))
        records.append(Record(number, count + len(records), ByteRange(begin, length), value, problem))
        begin, done, leading = begin + length, position, 0
    return records


IsDocument = Callable[[str, int], bool]
_DOCUMENT_START = re.compile(r"[\n,]\s*(?=[\[{])")


def _is_object(text: str, at: int) -> bool:
    return text.startswith("{", at)


def walk_stream(
    stream: BinaryIO, size: int, is_document: IsDocument = _is_object, restart: re.Pattern[str] = _DOCUMENT_START
) -> Iterator[Record]:
    """Yield the records of an event stream; their spans are adjacent. Those with a value hold an object.

    `is_document` and `restart` are those of `walk_documents`.
    """
    for number, document in enumerate(walk_documents(stream, size, is_document, restart)):
        value, problem = None, None
        try:
            document.text.encode()
            value = decode(document.text)
        except (ValueError, RecursionError) as error:
            problem = describe_error(error)
        span = ByteRange(document.begin, document.end - document.begin)
        if not isinstance(value, dict):
            value, problem = None, problem or "not an object"
        yield Record(number + 1, number, span, value, problem)


def first_records(head: bytes) -> list[dict[str, Any]]:
    """Return the objects among the first documents of a source, to recognize its format."""
    return list(_first_records(head))


@lru_cache(maxsize=2)  # the formats are asked about the same beginning one after the other
def _first_records(head: bytes) -> tuple[dict[str, Any], ...]:
    records = islice(walk_stream(BytesIO(head), len(head)), _SNIFFED)
    return tuple(record.value for record in records if record.value is not None)


def digest_of_record(value: Any) -> str:
    """Return a short hash of a record, which names the stream that begins with it."""
    return sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:SHORT_ID]


def digest_of_values(values: Iterable[Any]) -> str:
    """Return a hash of records, which names a session that has no id of its own."""
    digest = sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def name_stream(first: Iterable[Any]) -> str:
    """Return the sub file of a stream, given its first record with content; it stays the same while the file grows."""
    return f"stream-{digest_of_record(next(iter(first), None))}"


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One document: its text, the byte where the text starts, and its byte range from `begin` to `end`.

    The ranges are adjacent and cover the source; bytes between two documents belong to the first.
    """

    text: str
    begin: int
    start: int
    end: int


def walk_documents(
    stream: BinaryIO, size: int, is_document: IsDocument, restart: re.Pattern[str] = _DOCUMENT_START
) -> Iterator[JsonDocument]:
    """Yield the documents of the first `size` bytes of a stream: a sequence of them, or an array.

    `is_document(text, position)` returns True if a document starts there. Invalid bytes count as a document too;
    reading continues at the next document that begins where a match of `restart` ends.
    """
    window = _Window(stream, size)
    held: JsonDocument | None = None
    inside = False
    while window.skip_blanks():
        character = window.text[window.at]
        if inside and character in ",]":
            inside = character == ","
            window.advance(window.at + 1)
        elif not inside and character == "[" and window.is_sequence(is_document):
            inside = True
            window.advance(window.at + 1)
        else:
            start = window.offset
            if held is not None:
                yield replace(held, end=start)
            end = window.find_end(window.at)
            stop = window.find_next(is_document, restart) if end is None else end
            begin = 0 if held is None else start
            held = JsonDocument(window.text[window.at : stop], begin, start, size)
            window.advance(stop)
    if held is not None:
        yield replace(held, end=size)


def find_value_end(text: str, start: int) -> int:
    """Return where the JSON value that begins at `start` ends.

    Raises:
        ValueError: it is invalid or incomplete.
        RecursionError: it is nested too deeply.
    """
    return _SCANNER.raw_decode(text, start)[1]


def skip_blanks(text: str, position: int) -> int:
    """Return the position of the next character that is not blank."""
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def source_length(text: str) -> int:
    """Return the number of bytes of a text in its source; invalid UTF-8 is decoded as surrogates."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


class _Window:
    """The part of the source in memory; `at` is the current character, and `offset` its byte."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.text = ""
        self.at = 0
        self.offset = 0
        self._stream = stream
        self._left = size
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def advance(self, to: int) -> None:
        self.offset += source_length(self.text[self.at : to])
        self.at = to
        if self.at >= BLOCK_BYTES:
            self.text = self.text[self.at :]
            self.at = 0

    def skip_blanks(self) -> bool:
        """Advance to the next character that is not blank; return False at the end."""
        self.advance(skip_blanks(self.text, self.at))
        while self.at == len(self.text):
            if not self._read_more():
                return False
            self.advance(skip_blanks(self.text, self.at))
        return True

    def is_sequence(self, is_document: IsDocument) -> bool:
        """Return True if an array of documents begins here."""
        first = skip_blanks(self.text, self.at + 1)
        while first == len(self.text) and self._read_more():
            first = skip_blanks(self.text, first)
        self.find_end(first)
        return is_document(self.text, first)

    def find_end(self, start: int) -> int | None:
        """Return where a value ends, reading more as needed; None if it is invalid."""
        while True:
            try:
                end = find_value_end(self.text, start)
            except RecursionError:
                return None
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - _TAIL
                if not unfinished or not self._read_more():
                    return None
            else:
                if end < len(self.text) or not self._read_more():
                    return end

    def find_next(self, is_document: IsDocument, restart: re.Pattern[str]) -> int:
        """Return where the next document after invalid bytes starts; the end of the text in memory if there is none."""
        position = self.at + 1
        for _ in range(_MAX_TRIES):
            found = restart.search(self.text, position)
            while found is None and self._read_more():
                found = restart.search(self.text, position)
            if found is None:
                break
            end = self.find_end(found.end())
            if end is not None and is_document(self.text, found.end()):
                return found.end()
            position = found.end() if end is None else end
        return len(self.text)

    def _read_more(self) -> bool:
        """Read another block; return False at the end of the source or if the document is too large."""
        if self._left == 0 or len(self.text) - self.at >= MAX_BYTES:
            return False
        block = self._stream.read(min(self._left, max(BLOCK_BYTES, len(self.text) - self.at)))
        self._left = self._left - len(block) if block else 0
        self.text += self._decoder.decode(block, final=self._left == 0)
        return True
