"""A conversation that a command names and that is not here may be on a remote: a command that reads fetches it."""

from __future__ import annotations

from scopes.cli.connection import connect
from scopes.cli.invocation import Invocation
from scopes.errors import NotFound
from scopes.ids import ConversationId
from scopes.result import Note
from scopes.store.repository import Repository
from scopes.sync.remote_conversations import SHORT_ROOT, FoundElsewhere, fetch_found, find_by_root
from scopes.sync.remotes import remote_option


def find_missing(invocation: Invocation, repository: Repository, text: str) -> ConversationId | None:
    """Return the conversation that the beginning of the id of a root commit names; fetch it if it is not here.

    Raises:
        Ambiguous: there are several.
        NotFound: it is on a remote, and the command does not only read.
        As `fetch_found`.
    """
    found = find_by_root(repository, text, invocation.index_directory)
    if not isinstance(found, FoundElsewhere):
        return found
    short = found.listed.name.root[:SHORT_ROOT]
    if invocation.writes:
        hint = f"get it: scopes fetch {short}{remote_option(repository, found.remote.name)}"
        raise NotFound(f"{short} is on {found.remote.name}, and not here", hint=hint)
    with connect(invocation) as connection:
        conversation = fetch_found(repository, found, connection)
    invocation.output().note(Note(f"{short} was fetched from {found.remote.name}: {conversation}"))
    return conversation
