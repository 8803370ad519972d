"""JSON documents one after the other, out of a file that may be larger than memory: a sequence, or an array of them.

Only one document is held at a time. A stretch that is no JSON counts as a document too, and the reading goes on behind
it at what is certainly one again.
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
_BLANKS = re.compile("[ \t\r\n\ufeff]*")
_BEGINNING = re.compile(r"[\n,]\s*(?=[\[{])")
_TRIES = 1000  # beginnings that are looked at behind a broken stretch
_CUT_OFF = 16  # characters before the end in which an error may only mean that more is to come
_ENDS = json.JSONDecoder(
    parse_int=lambda _: None, parse_float=lambda _: None, parse_constant=lambda _: None, strict=False
)


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its text, where that starts, and the stretch of bytes from `begin` to `end` that goes with it.

    The stretches lie side by side and cover the source; what stands between two documents goes with the first.
    """

    text: str
    begin: int
    start: int
    end: int


def walk_documents(stream: BinaryIO, size: int, is_document: IsDocument) -> Iterator[Document]:
    """Yield the documents of the first `size` bytes of a stream.

    `is_document` tells whether a text has one at a place; an array of such is not a document itself but a sequence.
    """
    window = _Window(stream, size)
    held: Document | None = None
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
            held = Document(window.text[window.at : stop], begin, start, size)
            window.advance(stop)
    if held is not None:
        yield replace(held, end=size)


def find_value_end(text: str, start: int) -> int:
    """Find where the value ends that begins at `start`.

    Raises:
        ValueError: there is none, or it does not end.
        RecursionError: it is nested too deeply.
    """
    return _ENDS.raw_decode(text, start)[1]


def skip_blanks(text: str, position: int) -> int:
    """Find the first character that is no blank."""
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def source_length(text: str) -> int:
    """Count the bytes that a text had in its source; bytes that are no UTF-8 stand in it as half surrogates."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


class _Window:
    """The part of the source that is at hand; `at` is the place that was reached, and `offset` its byte."""

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
        """Go to the next character that is no blank; False where there is none."""
        self.advance(skip_blanks(self.text, self.at))
        while self.at == len(self.text):
            if not self._read_more():
                return False
            self.advance(skip_blanks(self.text, self.at))
        return True

    def is_sequence(self, is_document: IsDocument) -> bool:
        """Tell whether an array begins here that holds documents."""
        first = skip_blanks(self.text, self.at + 1)
        while first == len(self.text) and self._read_more():
            first = skip_blanks(self.text, first)
        self.find_end(first)
        return is_document(self.text, first)

    def find_end(self, start: int) -> int | None:
        """Find where a value ends, reading on as long as it may; None when it is no value."""
        while True:
            try:
                end = find_value_end(self.text, start)
            except RecursionError:
                return None
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - _CUT_OFF
                if not unfinished or not self._read_more():
                    return None
            else:
                if end < len(self.text) or not self._read_more():
                    return end

    def find_next(self, is_document: IsDocument) -> int:
        """Find the next document behind a broken one; the end of what is at hand where there is none."""
        position = self.at + 1
        for _ in range(_TRIES):
            found = _BEGINNING.search(self.text, position)
            while found is None and self._read_more():
                found = _BEGINNING.search(self.text, position)
            if found is None:
                break
            end = self.find_end(found.end())
            if end is not None and is_document(self.text, found.end()):
                return found.end()
            position = found.end() if end is None else end
        return len(self.text)

    def _read_more(self) -> bool:
        """Read on; False at the end of the source, or when a document would be too large."""
        if self._left == 0 or len(self.text) - self.at >= MAX_DOCUMENT:
            return False
        block = self._stream.read(min(self._left, max(BLOCK_BYTES, len(self.text) - self.at)))
        self._left = self._left - len(block) if block else 0
        self.text += self._decoder.decode(block, final=self._left == 0)
        return True
