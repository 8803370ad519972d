"""How the commands that talk to a remote do it: the user's environment and terminal, and a bar for the progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from scopes.cli.arguments import choose_project
from scopes.cli.invocation import Invocation
from scopes.render.progress import Meter, progress
from scopes.sync.connection import Connection
from scopes.sync.local_conversations import Selection, make_selection

if TYPE_CHECKING:
    from collections.abc import Sequence


@contextmanager
def connect(invocation: Invocation) -> Iterator[Connection]:
    """Yield how to talk to remotes; the progress of git is shown while the block runs."""
    with ExitStack() as bars:
        phases = _Phases(invocation, bars)
        yield Connection(environ=invocation.environ, terminal=invocation.interactive, on_progress=phases.report)


class _Phases:
    """A bar for each thing that git does, one after the other."""

    def __init__(self, invocation: Invocation, bars: ExitStack) -> None:
        self._output = invocation.output()
        self._bars = bars
        self._label = ""
        self._done = 0
        self._meter: Meter | None = None

    def report(self, label: str, done: int, total: int) -> None:
        """Show how far git has come."""
        if label != self._label or self._meter is None or done < self._done:
            self._bars.close()
            self._label, self._done = label, 0
            self._meter = self._bars.enter_context(progress(self._output, label, total))
        self._meter(done - self._done)
        self._done = done


def choose(
    invocation: Invocation,
    names: Sequence[str] | None,
    *,
    everything: bool = False,
    project: str | None = None,
    since: str | None = None,
    year: str | None = None,
) -> Selection:
    """Return which conversations a command is about; raises as `make_selection` and `choose_project` do."""
    found = None if project is None else choose_project(invocation, project)
    return make_selection(names or (), everything=everything, project=found, since=since, year=year)
