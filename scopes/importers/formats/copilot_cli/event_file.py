"""Read the events of a session file of Copilot CLI, also those that follow a cut event without a line end.

A resumed session goes on in the same file, behind an event that was cut when the program ended. Strings may have line
ends inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.fields import text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.json_stream import JsonDocument, skip_blanks, source_length, walk_documents
from scopes.importers.formats.lossless_json import decode, decode_first, describe_error

_FIRST_EVENTS = 20  # of a file, to recognize it
_MAX_GLUED = 100  # places in a cut event where another one may begin
_BEGINNING = re.compile(r'\{\s*"(?:type|data|id|timestamp|parentId)"\s*:')
_CUT = "a cut event"


def walk_event_file(stream: BinaryIO, size: int) -> Iterator[Record]:
    """Yield the records of the first `size` bytes; their spans are adjacent. Those with a value hold an object."""
    number = 0
    for document in walk_documents(stream, size, _is_event_at):
        for begin, end, value, problem in _split(document):
            yield Record(number + 1, number, ByteRange(begin, end - begin), value, problem)
            number += 1


def first_events(head: bytes) -> list[dict[str, Any]]:
    """Return the events among the first records of a file."""
    records = islice(walk_event_file(BytesIO(head), len(head)), _FIRST_EVENTS)
    return [record.value for record in records if record.value is not None and is_event(record.value)]


def is_event(value: Mapping[str, Any]) -> bool:
    """Return True for the envelope of an event."""
    return text_field(value, "type") is not None and isinstance(value.get("data"), dict) and "parentId" in value


def _split(document: JsonDocument) -> Iterator[tuple[int, int, dict[str, Any] | None, str | None]]:
    """Yield begin, end, value and problem of each event in a document: one, or a cut one with others behind it."""
    text = document.text
    value, problem = _decode(text)
    glued = [] if value is not None else list(_find_glued(text))
    if not glued:
        yield document.begin, document.end, value, problem
        return
    begin, place, offset = document.begin, 0, document.start
    for start, end, event in glued:
        offset += source_length(text[place:start])
        if start > place:
            yield begin, offset, None, _CUT
            begin = offset
        offset += source_length(text[start:end])
        yield begin, document.end if end == len(text) else offset, event, None
        begin, place = offset, end
    if place < len(text):
        yield begin, document.end, None, _CUT


def _find_glued(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of the events in a text, with the blanks behind each."""
    place = 0
    for found in islice(_BEGINNING.finditer(text, 1), _MAX_GLUED):
        if found.start() >= place and (glued := _event_at(text, found.start())) is not None:
            place = skip_blanks(text, glued[1])
            yield found.start(), place, glued[0]


def _decode(text: str) -> tuple[dict[str, Any] | None, str | None]:
    try:
        text.encode()
        value = decode(text)
    except UnicodeEncodeError:
        return None, "not valid UTF-8"
    except (ValueError, RecursionError) as error:
        return None, describe_error(error)
    return (value, None) if isinstance(value, dict) else (None, "not an object")


def _event_at(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Return the event that begins at `start`, and its end; None if there is none."""
    try:
        value, end = decode_first(text, start)
        text[start:end].encode()
    except (ValueError, RecursionError):
        return None
    return (value, end) if isinstance(value, dict) and is_event(value) else None


def _is_event_at(text: str, position: int) -> bool:
    return text.startswith("{", position) and _event_at(text, position) is not None
