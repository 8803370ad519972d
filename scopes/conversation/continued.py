"""Which conversation another one continues: its first prompt came with the recorded history of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scopes.errors import NotFound
from scopes.history.messages import read_message_at
from scopes.history.revisions import resolve_revision
from scopes.ids import ConversationId, MessageId, is_message_id
from scopes.model.message import HANDOVER
from scopes.store.objects import Commit
from scopes.store.repository import Repository


class Continued(NamedTuple):
    """The last message of the history that a conversation began with; conversation None: the store does not have it."""

    conversation: ConversationId | None
    message: MessageId


def find_continued(repository: Repository, oldest_first: Iterable[Commit]) -> Continued | None:
    """Return what a conversation continues; None if its first prompt names nothing."""
    first = next((commit for commit in oldest_first if commit.kind == "prompt"), None)
    found = None if first is None else read_message_at(repository, first.tree).extra.get(HANDOVER)
    message = found.get("message") if isinstance(found, dict) else None
    if not isinstance(message, str) or not is_message_id(message):
        return None
    try:
        conversation = resolve_revision(repository, message).conversation
    except NotFound:
        conversation = None
    return Continued(conversation, MessageId(message))
