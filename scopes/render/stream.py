"""A standard stream: terminal capabilities, output as UTF-8 in every locale, and write errors as ScopesErrors."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import BinaryIO, TextIO

from scopes.errors import Inaccessible
from scopes.render.color import decide_color, is_dumb
from scopes.sanitize import escape_runner_commands

_DEFAULT_WIDTH = 80
_DEFAULT_HEIGHT = 24


class OutputStream:
    """Standard output or standard error.

    `terminal` is True if output is formatted for a terminal, `capable` if that is not dumb, and `screen` if a terminal
    shows the output, whatever its form. `encoding` is that of the terminal, and UTF-8 for all else.
    """

    def __init__(self, stream: TextIO, environ: Mapping[str, str], color: str) -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self.screen = self.terminal
        self.capable = self.terminal and not is_dumb(environ)
        self.color = decide_color(color, environ, is_terminal=self.terminal)
        self._environ = environ
        self._raw = _unbuffered(stream)
        self.encoding = _choose_encoding(stream)

    def write(self, text: str) -> None:
        """Write text.

        Raises:
            Inaccessible: the write failed; BrokenPipeError is passed on.
        """
        try:
            if self._raw is None:
                self.stream.write(text)
            else:
                _write_all(self._raw, text.encode(self.encoding, "backslashreplace"))
        except OSError as error:
            raise _translate(error) from error

    def write_bytes(self, data: bytes) -> None:
        """Write bytes unchanged; text written before must have been flushed.

        Raises:
            Inaccessible: the write failed; BrokenPipeError is passed on.
        """
        try:
            _write_all(self._raw or self.stream.buffer, data)
        except OSError as error:
            raise _translate(error) from error

    def flush(self) -> None:
        """Flush the stream, so that a failed write is reported here.

        Raises:
            Inaccessible: the write failed; BrokenPipeError is passed on.
        """
        try:
            self.stream.flush()
        except OSError as error:
            raise _translate(error) from error

    def size(self) -> tuple[int, int]:
        """Return columns and lines: COLUMNS and LINES, else the size of the terminal, else 80 by 24."""
        try:
            size = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((_DEFAULT_WIDTH, _DEFAULT_HEIGHT))
        return self._number("COLUMNS") or size.columns or _DEFAULT_WIDTH, self._number(
            "LINES"
        ) or size.lines or _DEFAULT_HEIGHT

    def _number(self, name: str) -> int:
        text = self._environ.get(name, "")
        return int(text) if text.isascii() and text.isdecimal() else 0


class RunnerStream(OutputStream):
    """Standard output that the runner of GitHub Actions reads: text in whole lines, or JSON, without commands to it."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], color: str, *, as_json: bool = False) -> None:
        super().__init__(stream, environ, color)
        self._as_json = as_json
        self._line = ""  # the beginning of a line that is not complete
        self._flushed = ""  # what `flush` wrote of that line

    def write(self, text: str) -> None:
        """Write text up to its last line end; the rest is written with what follows, or by `flush`."""
        text = self._line + text
        end = text.rfind("\n") + 1
        self._line = text[end:]
        if end:
            self._write_escaped(text[:end])
            self._flushed = ""

    def flush(self) -> None:
        """Write the rest of the text, and flush the stream."""
        text, self._line = self._line, ""
        if text:
            self._write_escaped(text)
            self._flushed += text
        super().flush()

    def _write_escaped(self, text: str) -> None:
        """Write text behind what was flushed of its line; break a command that the two make together."""
        written, whole = self._escape(self._flushed), self._escape(self._flushed + text)
        if whole.startswith(written):
            super().write(whole[len(written) :])
        elif self._as_json:
            super().write(f"\\u{ord(text[0]):04x}{self._escape(text[1:])}")
        else:
            super().write("\\" + self._escape(text))

    def _escape(self, text: str) -> str:
        return escape_runner_commands(text, as_json=self._as_json)


def _choose_encoding(stream: TextIO) -> str:
    """Make a stream write UTF-8, but a terminal what its locale says; return the encoding."""
    if not isinstance(stream, io.TextIOWrapper):
        return "utf-8"
    encoding = stream.encoding if stream.isatty() else "utf-8"
    stream.reconfigure(encoding=encoding, errors="backslashreplace")
    return encoding.lower()


def _unbuffered(stream: TextIO) -> io.RawIOBase | None:
    """Return the raw file of an unbuffered stream (PYTHONUNBUFFERED), whose write() may write only a part."""
    raw = getattr(stream, "buffer", None)
    return raw if isinstance(raw, io.RawIOBase) else None


def _write_all(file: BinaryIO | io.RawIOBase, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[file.write(remaining) or 0 :]


def _translate(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    reason = error.strerror or "unknown reason"
    return Inaccessible(f"cannot write the output: {reason[0].lower()}{reason[1:]}")
