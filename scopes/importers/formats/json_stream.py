"""Read JSON documents one at a time from a file that may be larger than memory: a sequence, or an array of them.

Invalid bytes count as a document too; reading continues at the next text that is certainly a document.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

IsDocument = Callable[[str, int], bool]
MAX_DOCUMENT = 64 << 20  # characters
BLOCK_BYTES = 1 << 20
_WHITESPACE = re.compile("[ \t\r\n\ufeff]*")
_DOCUMENT_START = re.compile(r"[\n,]\s*(?=[\[{])")
_MAX_TRIES = 1000  # possible document starts that are checked after invalid bytes
_TAIL = 16  # an error this close to the end may only mean that more must be read
_SCANNER = json.JSONDecoder(
    parse_int=lambda _: None, parse_float=lambda _: None, parse_constant=lambda _: None, strict=False
)


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One document: its text, the byte where the text starts, and its byte range from `begin` to `end`.

    The ranges are adjacent and cover the source; bytes between two documents belong to the first.
    """

    text: str
    begin: int
    start: int
    end: int


def walk_documents(stream: BinaryIO, size: int, is_document: IsDocument) -> Iterator[JsonDocument]:
    """Yield the documents of the first `size` bytes of a stream.

    `is_document(text, position)` returns True if a document starts there; an array of documents is a sequence of them.
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
            stop = window.find_next(is_document) if end is None else end
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
    """Return the position of the next character that is not whitespace."""
    found = _WHITESPACE.match(text, position)
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
        """Advance to the next character that is not whitespace; return False at the end."""
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

    def find_next(self, is_document: IsDocument) -> int:
        """Return where the next document after invalid bytes starts; the end of the text in memory if there is none."""
        position = self.at + 1
        for _ in range(_MAX_TRIES):
            found = _DOCUMENT_START.search(self.text, position)
            while found is None and self._read_more():
                found = _DOCUMENT_START.search(self.text, position)
            if found is None:
                break
            end = self.find_end(found.end())
            if end is not None and is_document(self.text, found.end()):
                return found.end()
            position = found.end() if end is None else end
        return len(self.text)

    def _read_more(self) -> bool:
        """Read another block; return False at the end of the source or if the document is too large."""
        if self._left == 0 or len(self.text) - self.at >= MAX_DOCUMENT:
            return False
        block = self._stream.read(min(self._left, max(BLOCK_BYTES, len(self.text) - self.at)))
        self._left = self._left - len(block) if block else 0
        self.text += self._decoder.decode(block, final=self._left == 0)
        return True
