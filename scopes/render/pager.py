"""Run a pager for output that does not fit the screen. If the pager fails, the output is written without it."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from scopes.render.stream import OutputStream

if TYPE_CHECKING:
    from subprocess import Popen

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
