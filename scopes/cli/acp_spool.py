"""Take what `scopes acp` could not write before it was killed; its modules are loaded only if there is something."""

from __future__ import annotations

import os

from scopes.cli.invocation import Invocation
from scopes.errors import NotFound
from scopes.history.background_actors import ACP
from scopes.loading import load

_DIRECTORY = "acp-spool"  # as in scopes.server.acp.spool


def take_waiting(invocation: Invocation) -> int:
    """Take the messages that wait for the store into it, and return their number; nothing if there is no store.

    Raises:
        ScopesError, OSError: they cannot be read or written, and wait on.
    """
    try:
        if not os.listdir(os.path.join(invocation.state_directory, _DIRECTORY)):
            return 0
        repository = invocation.open_again(create=False, actor=ACP)
    except (FileNotFoundError, NotFound):
        return 0
    log = load("scopes.live.event_log:EventLog")(invocation.state_directory, store=os.path.realpath(repository.path))
    taken: int = load("scopes.server.acp.take_spool:take_spooled")(invocation.state_directory, repository, log)
    return taken
