"""How the commands that talk to a remote do it: the user's environment and terminal, and what they see meanwhile.

On a terminal a command that takes longer than half a second says that it waits for the server, and then shows a bar
for each thing that git does, with counts: nothing of what a server writes is shown but these numbers.
"""

from __future__ import annotations

import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from scopes.cli.arguments import choose_projects
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.history.names import conversation_ids
from scopes.render.progress import Meter, progress, shows_progress
from scopes.store.config import read_addresses
from scopes.sync.connection import Connection
from scopes.sync.credential_cache import keep_credentials
from scopes.sync.local_conversations import Selection, make_selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.cli.sharing_options import WantedFrom
    from scopes.render.output import Output

DELETE: Final = "push --delete"
_DELAY_SECONDS: Final = 0.5


@contextmanager
def connect(invocation: Invocation) -> Iterator[Connection]:
    """Yield how to talk to remotes; meanwhile the progress of git is shown, and it asks for a password only once."""
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


def choose_wanted(invocation: Invocation, wanted: WantedFrom) -> tuple[str | None, Selection]:
    """Return the remote and which of its conversations a fetch or pull is about; raises as `take_remote`, too."""
    remote, names = take_remote(invocation, wanted.conversations or (), wanted.remote)
    selection = choose(
        invocation, names, everything=wanted.everything, project=wanted.project, since=wanted.since, year=wanted.year
    )
    return remote, selection


def take_remote(invocation: Invocation, names: Sequence[str], remote: str | None) -> tuple[str | None, list[str]]:
    """Return the remote and the other names: it may be one of the words, as in git, unless a conversation is so named.

    remote: the one of --remote

    Raises:
        Invalid: there are two.
    """
    if not names:
        return remote, []
    repository = invocation.repository()
    here, remotes = conversation_ids(repository), read_addresses(repository.path)
    found = [name for name in names if name in remotes and not any(each.startswith(name) for each in here)]
    if len({*found, remote} - {None}) > 1:
        raise Invalid("the remote is given twice", hint="name one remote")
    return next(iter(found), remote), [name for name in names if name not in found]


def choose(
    invocation: Invocation,
    names: Sequence[str] | None,
    *,
    everything: bool = False,
    project: str | None = None,
    since: str | None = None,
    year: str | None = None,
) -> Selection:
    """Return which conversations a command is about; raises as `make_selection` and `choose_projects` do."""
    found = choose_projects(invocation, () if project is None else [project])
    everything = everything or (project is not None and not found)
    return make_selection(names or (), everything=everything, project=next(iter(found), None), since=since, year=year)
