"""A conversation that a command names and that is not here may be on a remote: a command that reads fetches it."""

from __future__ import annotations

from shlex import quote

from scopes.errors import NotFound
from scopes.history.names import may_be_root
from scopes.ids import ConversationId
from scopes.result import Note
from scopes.store.repository import Repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation
    from scopes.sync.find_by_root import FoundElsewhere


def find_missing(invocation: Invocation, repository: Repository, text: str) -> ConversationId | None:
    """Return the conversation that the beginning of the id of a root commit names; fetch it if it is not here.

    Raises:
        Ambiguous: there are several.
        NotFound: it is on a remote, and the command does not only read.
        As `fetch_found`.
    """
    if not may_be_root(text):
        return None
    from scopes.sync.find_by_root import find_by_root

    found: ConversationId | FoundElsewhere | None = find_by_root(repository, text, invocation.index_directory)
    if found is None or isinstance(found, str):
        return found
    short = found.short_root
    if invocation.writes:
        from scopes.sync.remotes import remote_option

        option = remote_option(repository, found.remote.name)
        hint = f"get it: scopes fetch{option} {quote(short)}"
        raise NotFound(f"{short} is on {found.remote.name}, and not here", hint=hint)
    from scopes.cli.connection import connect

    with connect(invocation) as connection:
        from scopes.sync.remote_conversations import fetch_found

        fetch = fetch_found
        conversation: ConversationId = fetch(repository, found, connection)
    invocation.output().note(Note(f"{short} was fetched from {found.remote.name}: {conversation}"))
    return conversation
