"""Take what `scopes acp` could not write before it was killed; its modules are loaded only if there is something."""

from __future__ import annotations

import os

from scopes.cli.invocation import Invocation
from scopes.errors import NotFound
from scopes.history.sessions import ACP_RECORDER as ACP

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
    from scopes.live.event_log import EventLog

    log = EventLog(invocation.state_directory, store=os.path.realpath(repository.path))
    from scopes.server.acp.take_spool import take_spooled

    taken: int = take_spooled(invocation.state_directory, repository, log)
    return taken
