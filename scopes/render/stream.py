"""A standard stream: terminal capabilities, UTF-8 in every locale, write errors as ScopesErrors, and the pager."""

from __future__ import annotations

import io
import os
import re
import signal
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from scopes.errors import Inaccessible
from scopes.render.view import decide_color, is_dumb
from scopes.sanitize import escape_runner_commands

if TYPE_CHECKING:
    from subprocess import Popen

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


_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_BUFFERED_CHARACTERS = 1 << 20  # a pager that read this much is taken to work


class PagerClosed(Exception):
    """The user has quit the pager; the remaining output is not needed."""


def open_pager(
    environ: Mapping[str, str], configured: str | None, stream: OutputStream, on_failure: Callable[[str], None]
) -> Pager | None:
    """Return the user's pager for a stream; None if the user wants none. `on_failure` is called if it does not work."""
    command = choose_pager(environ, configured)
    return None if command is None else Pager(command, environ, stream, on_failure)


def choose_pager(environ: Mapping[str, str], configured: str | None) -> str | None:
    """Return the first of SCOPES_PAGER, GIT_PAGER, the setting, PAGER and `less`; None if it is empty or `cat`."""
    candidates = (environ.get("SCOPES_PAGER"), environ.get("GIT_PAGER"), configured, environ.get("PAGER"), "less")
    command = next(name for name in candidates if name is not None).strip()
    return None if command in {"", "cat"} else command


class Pager:
    """Buffers text until it exceeds one screen, then starts the pager; shorter text is written directly at the end."""

    def __init__(
        self, command: str, environ: Mapping[str, str], stream: OutputStream, on_failure: Callable[[str], None]
    ) -> None:
        self._command = command
        self._environ = {"LESS": "FRX", "LV": "-c", **environ}
        if stream.encoding == "utf-8":
            self._environ.setdefault("LESSCHARSET", "utf-8")
        self._stream = stream
        self._on_failure = on_failure
        self._columns, self._rows = stream.size()
        self._buffer: list[str] = []
        self._size = 0
        self._cells = 0  # characters without escape sequences
        self._lines = 0
        self._process: Popen[bytes] | None = None
        self._direct = False
        self._before: Any = signal.SIG_DFL  # what Ctrl-C does when the pager has ended

    def __enter__(self) -> Callable[[str], None]:
        """Return the function to write with."""
        return self._write

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Wait until the pager has ended."""
        if kind is PagerClosed:
            return True
        if self._process is not None:
            self._finish(self._process)
        elif not self._direct:
            self._write_buffer()
        return False

    def _write(self, text: str) -> None:
        if self._direct:
            self._stream.write(text)
            return
        self._size += len(text)
        self._cells += len(_ESCAPE.sub("", text))
        self._lines += text.count("\n")
        if self._size <= _BUFFERED_CHARACTERS or self._process is None:
            self._buffer.append(text)
        if self._process is not None:
            self._feed(self._process, text)
        elif self._lines >= self._rows or self._cells >= self._rows * self._columns:
            self._start()

    def _start(self) -> None:
        from shlex import split as split_

        split = split_
        from subprocess import Popen as Popen_

        popen: type[Popen[bytes]] = Popen_
        self._stream.flush()
        try:
            self._process = popen(split(self._command), stdin=-1, stdout=self._stream.stream, env=self._environ)
        except (OSError, ValueError):
            self._give_up()
        else:
            self._before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the pager now
            self._feed(self._process, "".join(self._buffer))

    def _feed(self, process: Popen[bytes], text: str) -> None:
        assert process.stdin is not None  # noqa: S101  it was opened as a pipe
        try:
            process.stdin.write(text.encode(self._stream.encoding, "backslashreplace"))
        except BrokenPipeError:
            self._finish(process)
            if not self._direct:
                raise PagerClosed from None

    def _finish(self, process: Popen[bytes]) -> None:
        """Wait for the pager; if it failed, write its input without it."""
        try:
            _close(process)
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, self._before)
        self._process = None
        if code > 0 and self._size <= _BUFFERED_CHARACTERS:
            self._give_up()

    def _give_up(self) -> None:
        self._on_failure(f"the pager {self._command!r} does not work; this is shown without it")
        self._write_buffer()

    def _write_buffer(self) -> None:
        self._direct = True
        self._stream.write("".join(self._buffer))
        self._buffer.clear()


def _close(process: Popen[bytes]) -> None:
    assert process.stdin is not None  # noqa: S101  it was opened as a pipe
    try:
        process.stdin.close()
    except BrokenPipeError:
        return
