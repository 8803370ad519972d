"""Print the id of the prompt that is being worked on, for the trailer `Scopes-Turn` of a commit.

The prompt of a running turn is only in the files of the agent, so they are imported first. A commit waits for that: it
ends after some seconds at the latest, without a trailer then.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from contextlib import suppress

from scopes.cli.invocation import Invocation
from scopes.code_links.agent_environment import AgentSession, find_sessions
from scopes.code_links.session_turn import find_last_turn
from scopes.errors import NotFound
from scopes.history.sources import SOURCES, read_source_record, source_key, with_last_path
from scopes.ids import Oid
from scopes.importers.discovery import find_session_file, find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.store.repository import Repository

_SECONDS = 3  # the longest that a commit waits


def print_turn(store: str | None, environ: Mapping[str, str]) -> int:
    """Print the id of the prompt in the session that the environment names; nothing if that is not known.

    Raises:
        ScopesError, OSError: the session cannot be read or imported.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_SECONDS)
    sessions = find_sessions(environ)
    if len(sessions) != 1 or sessions[0].session is None:
        return 0
    invocation = Invocation(["hooks", "run", "git-turn"], environ)
    invocation.store = store
    repository = invocation.repository(create=True)
    path = _find_file(invocation, repository, sessions[0])
    if path is not None:
        import_sources(repository, find_sources(path), FORMATS, index_directory=invocation.index_directory)
    turn = find_last_turn(repository, sessions[0].tool, sessions[0].session)
    if turn:
        sys.stdout.write(f"{turn[0].head.id}\n")
        sys.stdout.flush()
    return 0


def _find_file(invocation: Invocation, repository: Repository, agent: AgentSession) -> str | None:
    """Return the file of a session: where it was when it was imported, or where its agent keeps it."""
    value = repository.find_ref(SOURCES + source_key(agent.tool, agent.session or "", None))
    if value is not None:
        path = with_last_path(repository, read_source_record(repository, Oid(value))).path
        with suppress(NotFound):
            if path and find_sources(path):
                return path
    return find_session_file(FORMATS, agent.tool, agent.session or "", invocation.environ, invocation.home)
