r"""Undo one encoding of a text: escapes, percent signs, colors and NULs inside words, and base64.

A decoded text knows where its characters were, so that what is found in it can be replaced in the original. Hex, and
words that line breaks divide, are not decoded.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from scopes.lazy_patterns import compile_lazily

_HIDDEN: Final = "\ufffd"  # what a prompt has for a NUL and for an escape
_COLOR: Final = rf"(?:\x1b|{_HIDDEN}|\\{{1,20}}(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]{{0,40}}[A-Za-z]"
_UNICODE: Final = r"\\{1,20}u00(?P<unicode>[2-7][0-9A-Fa-f])"
_PERCENT: Final = r"%(?P<percent>[2-7][0-9A-Fa-f])"
_NUL: Final = rf"\x00|{_HIDDEN}|\\{{1,20}}(?:u0000|x00)"
_SLASH: Final = r"\\{1,20}(?=[/_.-])"  # JSON of PHP and others, and Markdown
_ALL: Final = "|".join((_COLOR, _UNICODE, _PERCENT, _NUL, _SLASH))
_IN_BYTES: Final = compile_lazily(_ALL.encode())
_IN_TEXT: Final = compile_lazily(_ALL)
_SIGNS: Final = ("\\", "%", "\x1b", "\0", _HIDDEN)
_CODES: Final = ("unicode", "percent")
_RUN: Final = compile_lazily(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_STRETCH: Final = compile_lazily(rb"[\t\n\r -~]{20,}")  # of ASCII in what was decoded
_WORDS: Final = compile_lazily(rb"[ -~]{20}")
_STEP: Final = 1 << 16  # characters of a run that are decoded at a time
_OVERLAP: Final = 1 << 14


class DecodedText(NamedTuple):
    """A text after one decoding; `starts` are places in it, and `origins` those of the same characters before."""

    text: str
    starts: list[int]
    origins: list[int]

    def original(self, place: int) -> int:
        """Return where a character of the decoded text was."""
        number = bisect_right(self.starts, place) - 1
        return self.origins[number] + place - self.starts[number]


class EncodedStretch(NamedTuple):
    """A run of base64 with ASCII text in it: its place, and the text."""

    start: int
    end: int
    text: str


def without_escapes(data: bytes) -> bytes:
    """Return bytes after one decoding."""
    return _IN_BYTES.sub(_decoded_bytes, data)


def decode_escapes(text: str) -> DecodedText | None:
    """Return a text after one decoding; None if there is nothing to decode."""
    if not any(sign in text for sign in _SIGNS):
        return None
    pieces: list[str] = []
    starts, origins, length, position = [0], [0], 0, 0
    for match in _IN_TEXT.finditer(text):
        code = next((match[name] for name in _CODES if match[name]), None)
        pieces += (text[position : match.start()], "" if code is None else chr(int(code, 16)))
        length += match.start() - position
        if code is not None:
            starts.append(length)
            origins.append(match.start())
            length += 1
        starts.append(length)
        origins.append(match.end())
        position = match.end()
    if position == 0:
        return None
    pieces.append(text[position:])
    return DecodedText("".join(pieces), starts, origins)


def walk_base64(text: str) -> Iterator[EncodedStretch]:
    """Yield the ASCII in runs of base64; of long runs piece by piece, with overlaps."""
    for match in _RUN.finditer(text):
        pieces = range(match.start(), match.end(), _STEP)
        for start in (piece + shift for piece in pieces for shift in range(4)):  # a word in front may look like a part
            end = min(start + _STEP + _OVERLAP, match.end())
            for found in _STRETCH.finditer(decode_base64(text[start:end])):
                if _WORDS.search(found[0]):
                    first, last = start + found.start() // 3 * 4, start - (-found.end() // 3) * 4
                    yield EncodedStretch(first, min(last, end), found[0].decode())


def decode_base64(word: str) -> bytes:
    """Return the bytes of a run of base64, of either alphabet; a last group that is too short is left out."""
    word = word.replace("-", "+").replace("_", "/").rstrip("=")
    word = word[: len(word) - (len(word) % 4 == 1)]
    return b64decode(word + "=" * (-len(word) % 4))


def _decoded_bytes(match: re.Match[bytes]) -> bytes:
    code = match["unicode"] or match["percent"]
    return b"" if code is None else bytes((int(code, 16),))
