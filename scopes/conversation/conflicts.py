"""`conflicts list` and `conflicts show`: the conflicts of merges, rebases and cherry-picks (S4-56)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.messages import MessageHeader, message_id_of, read_message
from scopes.history.revisions import conversation_ids, resolve_conversation
from scopes.ids import ConversationId
from scopes.merge.conflict_list import (
    ConflictRow,
    find_addressee,
    find_conversations_of_conflict,
    is_id_prefix,
    list_discussion,
    read_conflict,
    walk_conflicts,
)
from scopes.merge.in_progress import InProgress
from scopes.merge.manual_resolution import find_disagreement, list_takes
from scopes.model.conflicts import ENDED, STATUSES, Conflict
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository

_NAMED_CONVERSATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList(Result):
    """The conflicts of one conversation or of all."""

    conversation: ConversationId | None
    conflicts: tuple[ConflictRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView(Result):
    """One conflict with the texts of its messages, by id, and the discussion on its branch, oldest first.

    `escalated_to` is who was asked last to resolve it; `takes` are the sides that a resolution can take, none if the
    conflict is resolved.
    """

    row: ConflictRow
    texts: Mapping[str, str]
    talk: tuple[MessageHeader, ...]
    escalated_to: str | None = None
    takes: tuple[str, ...] = ()


def list_conflicts(
    repository: Repository, conversation: str | None = None, *, status: str | None = None, include_all: bool = False
) -> ConflictList:
    """List the unresolved conflicts; with `include_all` also all that were resolved or abandoned.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise Invalid(f"{status!a} is not a valid conflict status", hint="statuses: " + ", ".join(STATUSES))
    conversation_id = None if conversation is None else resolve_conversation(repository, conversation)
    searched = conversation_ids(repository) if conversation_id is None else [conversation_id]
    ended = include_all or status in ENDED
    rows = [row for each in searched for row in walk_conflicts(repository, each, ended=ended)]
    statuses = {status} if status is not None else set(STATUSES) if include_all else set(STATUSES) - ENDED
    found = tuple(row for row in rows if row.conflict.status in statuses)
    return ConflictList(conversation=conversation_id, conflicts=found)


def show_conflict(repository: Repository, conversation: str, conflict: str) -> ConflictView:
    """Show one conflict, named by its id, a unique prefix of it, its number, or its key.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    texts = _read_texts(repository, in_progress, row.conflict)
    talk = tuple(reversed(list_discussion(repository, in_progress)))
    addressee = find_addressee(repository, in_progress.tip, row.conflict.id)
    takes = list_takes_of(repository, row, in_progress)
    return ConflictView(row=row, texts=texts, talk=talk, escalated_to=addressee, takes=takes)


def list_takes_of(repository: Repository, row: ConflictRow, in_progress: InProgress) -> tuple[str, ...]:
    """Return the sides that a resolution of a conflict can take; none if it has ended."""
    if row.conflict.status in ENDED:
        return ()
    return list_takes(find_disagreement(repository, in_progress, row.conflict))


def find_conflict_anywhere(repository: Repository, name: str) -> ConversationId:
    """Return the conversation of a conflict that is named alone: the latest one, else the only one with that id.

    A number names a conflict of the latest conversation only.

    Raises:
        NotFound, Ambiguous: no conversation or several have such a conflict.
        Invalid: the name is that of a conversation.
    """
    latest: ConversationId | None = None
    with contextlib.suppress(NotFound):  # the store is empty
        latest = resolve_conversation(repository, "@")
        read_conflict(repository, latest, name)
        return latest
    found = find_conversations_of_conflict(repository, name)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{conversation} {name}" for conversation in found[:_NAMED_CONVERSATIONS])
        raise Ambiguous(f"{name!a} matches conflicts of {len(found)} conversations", hint=f"name one of: {names}")
    if name in conversation_ids(repository):
        raise Invalid(f"{name} is a conversation", hint=f"name its conflict too: {name} 1")
    where = f" in {latest}, the latest conversation" if latest is not None and not is_id_prefix(name) else ""
    hint = "list them: scopes conflicts list; a number needs its conversation before it"
    raise NotFound(f"there is no conflict {name!a}{where}", hint=hint)


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
