r"""Undo one encoding of a text: escapes and invisible characters inside words (see `escapes`), base64 and base32.

A decoded text has the original positions of its characters, so that a secret found in it can be replaced in the
original. Hex, and words divided by line breaks, are not decoded.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.secret_scan.escapes import BYTE_PATTERN, ESCAPES, TEXT_PATTERN, byte_of, character_of, is_decodable

_IN_BYTES: Final = compile_lazily(BYTE_PATTERN)
# `=` is frequent: without it in the first set a search takes half the time.
_IN_UNQUOTED: Final = compile_lazily(BYTE_PATTERN.replace(b"=", b"", 1))
_QUOTED: Final = compile_lazily(ESCAPES[b"="])
_IN_TEXT: Final = compile_lazily(TEXT_PATTERN)
_IN_JSON: Final = compile_lazily(rb"\\(?:(?P<codes>u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*)|(?P<sign>.))")
_SIGNS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}
_RUN: Final = compile_lazily(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_BASE32: Final = compile_lazily(r"[A-Z2-7]{32,}={0,6}")
_DIGITS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv")
_STRETCH: Final = compile_lazily(
    rb"[\t\n\r\x1b -~]{20,}|(?:[\t\n\r\x1b -~]\x00){19,}[\t\n\r\x1b -~]?"
)  # of ASCII, in UTF-16 too
_KINDS: Final = bytes(1 if n in b"\t\n\r\x1b" or 0x20 <= n <= 0x7E else 2 if n else 0 for n in range(256))
_SHORTEST: Final = (b"\1" * 20, b"\1\0" * 19)  # kinds of bytes in a stretch
_WORDS: Final = compile_lazily(rb"[ -~]{20}")
_STEP: Final = 1 << 16  # characters of a run that are decoded at a time
_OVERLAP: Final = 1 << 14


class DecodedText(NamedTuple):
    """A text after one decoding; `starts` are positions in it, `origins` the original positions of these characters."""

    text: str
    starts: list[int]
    origins: list[int]

    def original(self, place: int) -> int:
        """Return the original position of a character of the decoded text."""
        number = bisect_right(self.starts, place) - 1
        return self.origins[number] + place - self.starts[number]


class EncodedStretch(NamedTuple):
    """A run of base64 that contains ASCII text: its position, and the text, which may have escape sequences."""

    start: int
    end: int
    text: str


def without_json_escapes(data: bytes) -> bytes:
    """Return JSON with its escapes replaced by their characters, so that each of its texts is a part of the bytes."""
    return _IN_JSON.sub(_json_character, data)


def _json_character(match: re.Match[bytes]) -> bytes:
    if match["codes"] is None:
        return _SIGNS.get(match["sign"], match["sign"])
    text: str = json.loads(b'"%b"' % match[0])
    return text.encode("utf-8", "surrogatepass")


def without_escapes(data: bytes) -> bytes:
    """Return bytes after one decoding."""
    pattern = _IN_BYTES if _QUOTED.search(data) else _IN_UNQUOTED
    return pattern.sub(byte_of, data)


def decode_escapes(text: str) -> DecodedText | None:
    """Return a text after one decoding; None if there is nothing to decode."""
    if not is_decodable(text):
        return None
    pieces: list[str] = []
    starts, origins, length, position = [0], [0], 0, 0
    for match in _IN_TEXT.finditer(text):
        character = character_of(match)
        pieces += (text[position : match.start()], character)
        length += match.start() - position
        if character:
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


def walk_encoded(text: str) -> Iterator[EncodedStretch]:
    """Yield the ASCII, also in UTF-16, in runs of base64 and base32; of long runs piece by piece, with overlaps."""
    for run, decode, characters, size in ((_RUN, decode_base64, 4, 3), (_BASE32, decode_base32, 8, 5)):
        for match in run.finditer(text):
            pieces = range(match.start(), match.end(), _STEP)
            # A word in front may look like a part.
            for start in (piece + shift for piece in pieces for shift in range(characters)):
                end = min(start + _STEP + _OVERLAP, match.end())
                for found in _find_stretches(decode(text[start:end])):
                    word = without_zeros(found[0])
                    if _WORDS.search(word):
                        first = start + found.start() // size * characters
                        last = start - (-found.end() // size) * characters
                        yield EncodedStretch(first, min(last, end), word.decode())


def _find_stretches(data: bytes) -> Iterable[re.Match[bytes]]:
    """Return the stretches of ASCII; most data have none, which a fast test finds in a tenth of the time."""
    kinds = data.translate(_KINDS)
    return _STRETCH.finditer(data) if any(shortest in kinds for shortest in _SHORTEST) else ()


def without_zeros(data: bytes) -> bytes:
    """Return ASCII in UTF-16 without its zeros."""
    return data.replace(b"\0", b"")


def decode_base64(word: str) -> bytes:
    """Return the bytes of a run of base64, of either alphabet; a last group that is too short is left out."""
    word = word.replace("-", "+").replace("_", "/").rstrip("=")
    word = word[: len(word) - (len(word) % 4 == 1)]
    return b64decode(word + "=" * (-len(word) % 4))


def decode_base32(word: str) -> bytes:
    """Return the bytes of a run of base32; a last group that is too short is left out.

    A number in base 32 has the same bits. `b32decode` is written in Python, and takes 20 times as long.
    """
    word = word.rstrip("=")
    word = word[: len(word) - {1: 1, 3: 1, 6: 1}.get(len(word) % 8, 0)]
    size, rest = divmod(len(word) * 5, 8)
    return (int(word.translate(_DIGITS) or "0", 32) >> rest).to_bytes(size, "big")
