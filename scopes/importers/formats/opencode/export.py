"""Find the messages of an exported session with their positions, also in one that was cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from scopes.importers.formats.json_stream import skip_blanks
from scopes.importers.formats.lossless_json import decode_first

_BEGINNING = re.compile(rb'(?:[^{\n]*\n)?\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_')
_MESSAGES = re.compile(r'\s*,\s*"messages"\s*:\s*\[')
_INFO = re.compile(r'\{\s*"info"\s*:\s*')


class Element(NamedTuple):
    """A message of the export and its byte range; the range includes the comma after it."""

    start: int
    end: int
    value: Any


def is_export(head: bytes) -> bool:
    """Return True if a source that begins with `head` is an exported session."""
    return _BEGINNING.match(head) is not None


def read_info(data: bytes) -> dict[str, Any]:
    """Return the object about the session; an empty one if it was cut off."""
    text = data.decode("utf-8", "surrogateescape")
    found = _INFO.search(text)
    try:
        value = {} if found is None else decode_first(text, found.end())[0]
    except (ValueError, RecursionError):
        value = {}
    return value if isinstance(value, dict) else {}


def find_messages(data: bytes) -> Iterator[Element]:
    """Yield the messages of an export in order, up to the first one that cannot be read."""
    text = data.decode("utf-8", "surrogateescape")
    found = _INFO.search(text)
    try:
        end = 0 if found is None else decode_first(text, found.end())[1]
        beginning = _MESSAGES.match(text, end) if found is not None else None
        position = len(text) if beginning is None else skip_blanks(text, beginning.end())
        offset, counted = 0, 0
        while position < len(text) and text[position] != "]":
            value, stop = decode_first(text, position)
            following = skip_blanks(text, stop)
            if text[following : following + 1] == ",":
                stop = following + 1
            offset += _length(text, counted, position)
            length = _length(text, position, stop)
            text[position:stop].encode()  # raises for bytes that are not UTF-8
            yield Element(offset, offset + length, value)
            offset, counted = offset + length, stop
            position = skip_blanks(text, stop)
    except (ValueError, RecursionError):
        return


def _length(text: str, start: int, end: int) -> int:
    return len(text[start:end].encode("utf-8", "surrogateescape"))
