"""Show a progress bar on a terminal for work that takes longer than a moment. rich is imported only to draw it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scopes.render.output import Output
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from scopes.render.stream import OutputStream

_DELAY_SECONDS = 1.0
_INTERVAL_SECONDS = 0.1


@contextmanager
def progress(
    output: Output,
    label: str,
    total: int | None = None,
    *,
    in_bytes: bool = False,
    delay: float = _DELAY_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Meter]:
    """Yield a function that takes the number of newly finished items, or bytes, of `total`; it draws the bar.

    delay: how many seconds pass before it is drawn first
    """
    meter = Meter(output, label, total, clock, in_bytes=in_bytes, delay=delay)
    try:
        yield meter
    finally:
        meter.close()


def shows_progress(output: Output) -> bool:
    """Return True if progress is shown: on a terminal, without --quiet and --json."""
    return output.stderr.capable and not (output.settings.quiet or output.settings.json)


class Meter:
    """Counts finished items, and draws a bar if its output is a terminal."""

    def __init__(
        self,
        output: Output,
        label: str,
        total: int | None,
        clock: Callable[[], float],
        *,
        in_bytes: bool,
        delay: float = _DELAY_SECONDS,
    ) -> None:
        self._shown = shows_progress(output)
        self._count_rest: Callable[[], int] | None = None
        self._in_bytes = in_bytes
        self._stream = output.stderr
        self._label = clean_line(label)
        self._total = total
        self._clock = clock
        self._done = 0
        self._next = clock() + delay
        self._bar: Progress | None = None

    def expect(self, count: Callable[[], int]) -> None:
        """Set the total once the bar is drawn first; `count` includes the items that are being reported then."""
        self._count_rest = count

    def __call__(self, count: int) -> None:
        """Add finished items."""
        if not self._shown:
            return
        self._done += count
        now = self._clock()
        if now < self._next:
            return
        if self._bar is None:
            if self._count_rest is not None:
                self._total = self._done - count + self._count_rest()
            self._bar = _make_bar(self._stream, self._total, in_bytes=self._in_bytes)
            self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        done = self._done if self._total is None else min(self._done, self._total)
        self._bar.update(self._bar.task_ids[0], completed=done, refresh=True)
        self._next = now + _INTERVAL_SECONDS

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.stop()


def _make_bar(stream: OutputStream, total: int | None, *, in_bytes: bool) -> Progress:
    """Return a bar that is drawn on request only: it starts no thread and redirects no stream.

    Without a total there is only a count, because a bar would look full.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    count = DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn()
    columns = [TextColumn("{task.completed:,}")] if total is None else [BarColumn(), count, TimeRemainingColumn()]
    # An empty environment: color and width have been decided from the real one already.
    console = Console(
        file=stream.stream, force_terminal=True, color_system="standard" if stream.color else None,
        width=stream.size()[0], _environ={},
    )  # fmt: skip
    return Progress(
        TextColumn("{task.description}", markup=False), *columns, console=console, auto_refresh=False, transient=True,
        redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
