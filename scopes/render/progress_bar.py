"""A progress bar drawn by rich and erased at the end. A module of its own, since rich is only imported to draw."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from scopes.render.stream import OutputStream


class ProgressBar:
    """Draws on request only: it starts no thread and redirects no stream."""

    def __init__(self, stream: OutputStream, label: str, total: int | None, *, in_bytes: bool = False) -> None:
        width, _ = stream.size()
        colors: Literal["standard"] | None = "standard" if stream.color else None
        # An empty environment: color and width have been decided from the real one already.
        console = Console(file=stream.stream, force_terminal=True, color_system=colors, width=width, _environ={})
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            *_columns(total, in_bytes=in_bytes),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(label, total=total)
        self._progress.start()

    def draw(self, done: int) -> None:
        """Draw the bar with the number of finished items."""
        self._progress.update(self._task, completed=done, refresh=True)

    def close(self) -> None:
        """Erase the bar."""
        self._progress.stop()


def _columns(total: int | None, *, in_bytes: bool) -> list[ProgressColumn]:
    """Return the columns behind the label; without a total only a count, because a bar would look full."""
    if total is None:
        return [TextColumn("{task.completed:,}")]
    count = DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn()
    return [BarColumn(), count, TimeRemainingColumn()]
