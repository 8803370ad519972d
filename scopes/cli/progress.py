"""What a person sees while a command works: how many things are done, and what git does with a remote.

On a terminal a command that takes longer than half a second says that it waits for the server, and then shows a bar
for each thing that git does, with counts: nothing of what a server writes is shown but these numbers.
"""

from __future__ import annotations

import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from scopes.render.output import Meter, progress, shows_progress

if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation
    from scopes.render.output import Output
    from scopes.sync.connection import Connection

_DELAY_SECONDS: Final = 0.5


@contextmanager
def counted(invocation: Invocation, label: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many things are done, and of how many; their number is known with the first."""
    with progress(invocation.output(), label) as meter:

        def on_progress(done: int, total: int) -> None:
            meter.expect(lambda: total)
            meter(1 if done else 0)

        yield on_progress


@contextmanager
def connect(invocation: Invocation) -> Iterator[Connection]:
    """Yield how to talk to remotes; meanwhile the progress of git is shown, and it asks for a password only once."""
    from scopes.sync.connection import Connection
    from scopes.sync.credential_cache import keep_credentials

    output, terminal = invocation.output(), invocation.interactive
    with ExitStack() as stack:
        cache = stack.enter_context(keep_credentials(invocation.environ)) if terminal else None
        if not shows_progress(output):
            yield Connection(environ=invocation.environ, terminal=terminal, credential_cache=cache)
            return
        phases = Phases(output, stack.enter_context(ExitStack()), lambda: is_asking(invocation.stdin))
        yield Connection(
            environ=invocation.environ,
            terminal=terminal,
            on_progress=phases.report,
            on_wait=phases.wait,
            credential_cache=cache,
        )


class Phases:
    """A line while nothing happens, and a bar for each thing that is done, one after the other."""

    def __init__(
        self,
        output: Output,
        bars: ExitStack,
        asks_password: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._output = output
        self._bars = bars
        self._asks_password = asks_password
        self._clock = clock
        self._start = clock()
        self._has_waited = False
        self._label = ""
        self._done = 0
        self._meter: Meter | None = None

    def wait(self, what: str) -> None:
        """Say once what is waited for, but not into the line in which a password is asked for."""
        if not self._has_waited and not self._asks_password():
            self._has_waited = True
            self._output.say(f"{what} ...")

    def report(self, label: str, done: int, total: int) -> None:
        """Show how far something has come; what is complete is not shown any longer."""
        if done >= total or label != self._label or done < self._done:
            self._bars.close()
            self._meter, self._label, self._done = None, label, 0
        if done >= total:
            return
        if self._meter is None:
            delay = max(self._start + _DELAY_SECONDS - self._clock(), 0.0)
            self._meter = self._bars.enter_context(progress(self._output, label, total, delay=delay, clock=self._clock))
        self._meter(done - self._done)
        self._done = done


def is_asking(stdin: TextIO) -> bool:
    """Return True if a program reads a password from the terminal: then the terminal does not show what is typed."""
    try:
        return not termios.tcgetattr(stdin.fileno())[3] & termios.ECHO
    except (OSError, ValueError, termios.error):
        return False
