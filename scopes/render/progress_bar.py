"""The bar itself, by rich; it leaves no trace when it is done."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from scopes.render.stream import OutputStream


class ProgressBar:
    """Drawn when told to; no thread, no redirected stream."""

    def __init__(self, channel: OutputStream, label: str, total: int | None) -> None:
        width, _ = channel.size()
        colours: Literal["standard"] | None = "standard" if channel.colour else None
        # An empty environment, since what the real one says has been decided already.
        console = Console(file=channel.stream, force_terminal=True, color_system=colours, width=width, _environ={})
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(label, total=total)
        self._progress.start()

    def draw(self, done: int) -> None:
        """Show how many are done."""
        self._progress.update(self._task, completed=done, refresh=True)

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()
