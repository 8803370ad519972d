"""The pager: what does not fit the screen goes through it; whatever happens to it, no output is lost."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from scopes.loading import load
from scopes.render.stream import OutputStream

if TYPE_CHECKING:
    from subprocess import Popen

_KEPT_CHARACTERS = 1 << 20  # a pager that took this much has worked


class PagerClosed(Exception):
    """The reader has seen enough; what is still to come need not be made."""


def choose_pager(environ: Mapping[str, str], configured: str | None) -> str | None:
    """Apply SCOPES_PAGER > GIT_PAGER > the configured one > PAGER > `less`; empty and `cat` mean none."""
    named = (environ.get("SCOPES_PAGER"), environ.get("GIT_PAGER"), configured, environ.get("PAGER"), "less")
    chosen = next(name for name in named if name is not None).strip()
    return None if chosen in {"", "cat"} else chosen


class Pager:
    """Holds text back until it is more than a screen, then starts the pager; less is shown as it is at the end."""

    def __init__(
        self, command: str, environ: Mapping[str, str], channel: OutputStream, complain: Callable[[str], None]
    ) -> None:
        self._command = command
        self._environ = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **environ}
        self._channel = channel
        self._complain = complain
        self._columns, self._rows = channel.size()
        self._kept: list[str] = []
        self._size = 0
        self._lines = 0
        self._process: Popen[bytes] | None = None
        self._direct = False

    def __enter__(self) -> Callable[[str], None]:
        """Return what writes."""
        return self._write

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Wait until the reader is done."""
        if kind is PagerClosed:
            return True
        if self._process is not None:
            self._finish(self._process)
        elif not self._direct:
            self._show_kept()
        return False

    def _write(self, text: str) -> None:
        if self._direct:
            self._channel.write(text)
            return
        self._size += len(text)
        self._lines += text.count("\n")
        if self._size <= _KEPT_CHARACTERS or self._process is None:
            self._kept.append(text)
        if self._process is not None:
            self._feed(self._process, text)
        elif self._lines >= self._rows or self._size >= self._rows * self._columns:
            self._start()

    def _start(self) -> None:
        words = load("shlex:split")
        popen: type[Popen[bytes]] = load("subprocess:Popen")
        self._channel.flush()
        try:
            self._process = popen(words(self._command), stdin=-1, stdout=self._channel.stream, env=self._environ)
        except (OSError, ValueError):
            self._give_up()
        else:
            self._feed(self._process, "".join(self._kept))

    def _feed(self, process: Popen[bytes], text: str) -> None:
        assert process.stdin is not None  # noqa: S101  it was opened as a pipe
        try:
            process.stdin.write(text.encode())
        except BrokenPipeError:
            self._finish(process)
            if not self._direct:
                raise PagerClosed from None

    def _finish(self, process: Popen[bytes]) -> None:
        """Wait for the pager; where it failed, show what it was given."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keys of the terminal are the pager's now
        try:
            _close(process)
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        self._process = None
        if code > 0 and self._size <= _KEPT_CHARACTERS:
            self._give_up()

    def _give_up(self) -> None:
        self._complain(f"the pager {self._command!r} does not work; this is shown without it")
        self._show_kept()

    def _show_kept(self) -> None:
        self._direct = True
        self._channel.write("".join(self._kept))
        self._kept.clear()


def _close(process: Popen[bytes]) -> None:
    assert process.stdin is not None  # noqa: S101  it was opened as a pipe
    try:
        process.stdin.close()
    except BrokenPipeError:
        return
