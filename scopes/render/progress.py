"""Show a progress bar on a terminal for work that takes longer than a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scopes.render.output import Output
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from scopes.render.progress_bar import ProgressBar

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
        self._output = output
        self._label = clean_line(label)
        self._total = total
        self._clock = clock
        self._done = 0
        self._next = clock() + delay
        self._bar: ProgressBar | None = None

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
            from scopes.render.progress_bar import ProgressBar as ProgressBar_

            start: type[ProgressBar] = ProgressBar_
            self._bar = start(self._output.stderr, self._label, self._total, in_bytes=self._in_bytes)
        self._bar.draw(self._done if self._total is None else min(self._done, self._total))
        self._next = now + _INTERVAL_SECONDS

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.close()
