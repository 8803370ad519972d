"""`conflicts list` and `conflicts show`: the conflicts of merges, rebases and cherry-picks (S4-56)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scopes.errors import Invalid
from scopes.history.messages import MessageHeader, message_id_of, read_message
from scopes.history.revisions import conversation_ids, resolve_conversation
from scopes.ids import ConversationId
from scopes.merge.conflict_list import ConflictRow, find_addressee, list_discussion, read_conflict, walk_conflicts
from scopes.merge.in_progress import InProgress
from scopes.model.conflicts import STATUSES, Conflict
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList(Result):
    """The conflicts of one conversation or of all."""

    conversation: ConversationId | None
    conflicts: tuple[ConflictRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView(Result):
    """One conflict with the texts of its messages, by id, and the discussion on its branch, oldest first.

    `escalated_to` is who was asked last to resolve it.
    """

    row: ConflictRow
    texts: Mapping[str, str]
    talk: tuple[MessageHeader, ...]
    escalated_to: str | None = None


def list_conflicts(
    repository: Repository, conversation: str | None = None, *, status: str | None = None, include_all: bool = False
) -> ConflictList:
    """List the unresolved conflicts; with `include_all` also all resolved ones, those of finished merges included.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise Invalid(f"{status!a} is not a valid conflict status", hint="statuses: " + ", ".join(STATUSES))
    conversation_id = None if conversation is None else resolve_conversation(repository, conversation)
    searched = conversation_ids(repository) if conversation_id is None else [conversation_id]
    ended = include_all or status == "resolved"
    rows = [row for each in searched for row in walk_conflicts(repository, each, ended=ended)]
    statuses = {status} if status is not None else set(STATUSES) if include_all else set(STATUSES) - {"resolved"}
    found = tuple(row for row in rows if row.conflict.status in statuses)
    return ConflictList(conversation=conversation_id, conflicts=found)


def show_conflict(repository: Repository, conversation: str, conflict: str) -> ConflictView:
    """Show one conflict, named by its id, a unique prefix of it, or its number.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    texts = _read_texts(repository, in_progress, row.conflict)
    talk = tuple(reversed(list_discussion(repository, in_progress)))
    addressee = find_addressee(repository, in_progress.tip, row.conflict.id)
    return ConflictView(row=row, texts=texts, talk=talk, escalated_to=addressee)


def _read_texts(repository: Repository, in_progress: InProgress, conflict: Conflict) -> dict[str, str]:
    """Read the texts of the messages that set the values of a conflict."""
    positions = (*conflict.base, *conflict.source, *conflict.target)
    missing = {position.message for position in positions if position.message is not None}
    found: dict[str, str] = {}
    for commit in walk_newest_first(repository, [in_progress.tip, in_progress.source_tip]):
        if not missing:
            break
        message = message_id_of(commit)
        if message in missing:
            missing.discard(message)
            found[message] = read_message(repository, commit.oid).text
    return found
