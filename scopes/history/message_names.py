"""The message that another one answers, as a program names it."""

from __future__ import annotations

from scopes.history.messages import header_of
from scopes.history.revisions import resolve_revision
from scopes.ids import ConversationId, is_message_id
from scopes.store.repository import Repository, read_commit


def complete_message_id(repository: Repository, conversation: ConversationId | None, text: str | None) -> str | None:
    """Return the full id for a prefix or revision; a full id is returned as it is, even if no such message exists.

    Raises:
        NotFound, Ambiguous, Invalid: as `resolve_revision`.
    """
    if text is None or is_message_id(text):
        return text
    return str(header_of(read_commit(repository, resolve_revision(repository, text, conversation).oid)).id)
