"""Read the file in which git looks for further directories of objects, `objects/info/alternates`, as git reads it.

It has a path in each line, or a comment. A path in quotation marks has the escapes of C, and ends at the second mark:
what follows after one more byte is the next path. Text that only looks like that is a path with quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_QUOTED: Final = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"', re.DOTALL)
_ESCAPE: Final = re.compile(rb'\\([abfnrtv"\\]|[0-3][0-7]{2})')
_CHARACTERS: Final = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b'"': b'"', b"\\": b"\\",
}  # fmt: skip


def parse_alternates(data: bytes) -> Iterator[bytes]:
    """Yield the paths in the file; git reads it as far as its first NUL."""
    text = data.partition(b"\0")[0]
    at = 0
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        end = text.find(b"\n", at) if quoted is None else quoted.end()
        end = len(text) if end < 0 else end
        path = text[at:end] if quoted is None else _ESCAPE.sub(_unescape, quoted[1])
        if path and (quoted is not None or not path.startswith(b"#")):
            yield path.partition(b"\0")[0]
        at = end + 1


def _unescape(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return _CHARACTERS[escape] if escape in _CHARACTERS else bytes([int(escape, 8)])
