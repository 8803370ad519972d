"""Look for a word in every byte of directories: in files as they are, and in everything that zlib compressed in them.

This is written without anything of the program, so that it proves what the program says about itself.
"""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress

_HEADERS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_MAX_BYTES = 64 << 20


def find_word(word: str, *directories: object) -> list[str]:
    """Return the files that have a word in any form: as it is, in lower case, or in base64 at any offset."""
    forms = [*_forms(word)]
    return [
        os.path.relpath(path, str(directory))
        for directory in directories
        for path in sorted(_walk_files(str(directory)))
        if any(form in data or form in data.lower() for data in _walk_contents(path) for form in forms)
    ]


def _forms(word: str) -> Iterator[bytes]:
    data = word.encode()
    yield data
    yield data.lower()
    yield from (base64.b64encode(data[offset:])[:-4] for offset in range(3))


def _walk_files(directory: str) -> Iterator[str]:
    for here, _, names in os.walk(directory):
        yield from (os.path.join(here, name) for name in names)


def _walk_contents(path: str) -> Iterator[bytes]:
    """Yield a file, and what every zlib stream at any offset of it holds."""
    with open(path, "rb") as file:
        data = file.read()
    yield data
    for header in _HEADERS:
        start = data.find(header)
        while start >= 0:
            with suppress(zlib.error):
                yield zlib.decompressobj().decompress(data[start:], _MAX_BYTES)
            start = data.find(header, start + 1)
