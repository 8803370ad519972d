"""A standard stream: what it can show, any text as UTF-8 whatever the locale, and its failures in our words."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import BinaryIO, TextIO

from scopes.errors import Inaccessible
from scopes.render.colour import decide_colour, is_dumb

_USUAL_WIDTH = 80
_USUAL_HEIGHT = 24


class OutputStream:
    """Standard output or standard error; `capable` tells a terminal that can do more than print."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], color: str) -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self.capable = self.terminal and not is_dumb(environ)
        self.colour = decide_colour(color, environ, is_terminal=self.terminal)
        self._environ = environ
        self._raw = _unbuffered(stream)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")

    def write(self, text: str) -> None:
        """Write text.

        Raises:
            Inaccessible: it cannot be written; BrokenPipeError passes, since nobody reads any more.
        """
        try:
            if self._raw is None:
                self.stream.write(text)
            else:
                _write_all(self._raw, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise _refusal(error) from error

    def write_bytes(self, data: bytes) -> None:
        """Write bytes as they are, behind the text that was flushed.

        Raises:
            Inaccessible: they cannot be written; BrokenPipeError passes, since nobody reads any more.
        """
        try:
            _write_all(self._raw or self.stream.buffer, data)
        except OSError as error:
            raise _refusal(error) from error

    def flush(self) -> None:
        """Hand over what was written, so that its failure is seen here.

        Raises:
            Inaccessible: it cannot be written; BrokenPipeError passes, since nobody reads any more.
        """
        try:
            self.stream.flush()
        except OSError as error:
            raise _refusal(error) from error

    def size(self) -> tuple[int, int]:
        """Return columns and lines: COLUMNS and LINES, else what the terminal says, else 80 by 24."""
        try:
            said = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            said = os.terminal_size((_USUAL_WIDTH, _USUAL_HEIGHT))
        return self._number("COLUMNS") or said.columns or _USUAL_WIDTH, self._number(
            "LINES"
        ) or said.lines or _USUAL_HEIGHT

    def _number(self, name: str) -> int:
        text = self._environ.get(name, "")
        return int(text) if text.isascii() and text.isdecimal() else 0


def _unbuffered(stream: TextIO) -> io.RawIOBase | None:
    """Return the file below a stream that has no buffer (PYTHONUNBUFFERED), of which one write may take only a part."""
    below = getattr(stream, "buffer", None)
    return below if isinstance(below, io.RawIOBase) else None


def _write_all(file: BinaryIO | io.RawIOBase, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]


def _refusal(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    reason = error.strerror or "unknown reason"
    return Inaccessible(f"cannot write the output: {reason[0].lower()}{reason[1:]}")
