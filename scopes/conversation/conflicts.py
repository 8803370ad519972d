"""`conflicts list` and `conflicts show`: the conflicts of merges, rebases and cherry-picks in progress (S4-56)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.messages import MessageHead, message_id_of, read_message, walk_heads_newest_first
from scopes.history.revisions import conversation_ids, find_conversation
from scopes.ids import BranchName, ConversationId
from scopes.merge.in_progress import InProgress, list_conflicts_of, list_in_progress
from scopes.model.conflicts import STATUSES, Conflict
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository

_LONGEST_NUMBER = 3
_DISCUSSING_KINDS = frozenset({"human", "agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """One conflict, numbered from 1 within its conversation.

    Attributes:
        branch: The conflict-resolution branch.
        since: When that was created.
        kind: "merge", "rebase" or "cherry-pick".
    """

    number: int
    conversation: ConversationId
    branch: BranchName
    source: str
    target: BranchName
    since: str
    conflict: Conflict
    kind: str = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList(Result):
    """The conflicts of one conversation or of all."""

    conversation: ConversationId | None
    conflicts: tuple[ConflictRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView(Result):
    """One conflict with the texts of its messages, by id, and the discussion on its branch, oldest first."""

    row: ConflictRow
    texts: Mapping[str, str]
    talk: tuple[MessageHead, ...]


def list_conflicts(
    repository: Repository, conversation: str | None = None, *, status: str | None = None, include_all: bool = False
) -> ConflictList:
    """List the unresolved conflicts; with `include_all` also those resolved on the same branches.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise Invalid(f"{status!a} is not a conflict status", hint="statuses: " + ", ".join(STATUSES))
    conversation_id = None if conversation is None else find_conversation(repository, conversation)
    searched = conversation_ids(repository) if conversation_id is None else [conversation_id]
    rows = [row for each in searched for row in walk_conflicts(repository, each)]
    statuses = {status} if status is not None else set(STATUSES) if include_all else set(STATUSES) - {"resolved"}
    found = tuple(row for row in rows if row.conflict.status in statuses)
    return ConflictList(conversation=conversation_id, conflicts=found)


def show_conflict(repository: Repository, conversation: str, conflict: str) -> ConflictView:
    """Show one conflict, named by its id, a unique prefix of it, or its number.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
    """
    row, pending = find_conflict(repository, find_conversation(repository, conversation), conflict)
    texts = _read_texts(repository, pending, row.conflict)
    return ConflictView(row=row, texts=texts, talk=tuple(reversed(_list_discussion(repository, pending))))


def walk_conflicts(repository: Repository, conversation: ConversationId) -> Iterator[ConflictRow]:
    """Yield the conflicts of a conversation, resolved ones included, by branch, then by key; numbers are unique."""
    yield from (row for row, _ in _walk_rows(repository, conversation))


def _walk_rows(repository: Repository, conversation: ConversationId) -> Iterator[tuple[ConflictRow, InProgress]]:
    before = 0
    for pending in list_in_progress(repository, conversation):
        for row in _rows(repository, pending, before):
            yield row, pending
            before = row.number


def _rows(repository: Repository, pending: InProgress, before: int) -> Iterator[ConflictRow]:
    discussed = bool(_list_discussion(repository, pending))
    for number, record in enumerate(list_conflicts_of(repository, pending), before + 1):
        status = "debate" if record.status == "open" and discussed else record.status
        yield ConflictRow(
            number=number,
            conversation=pending.conversation,
            branch=pending.branch,
            source=pending.source,
            target=pending.target,
            since=pending.entry.created,
            conflict=replace(record, status=status),
            kind=pending.kind,
        )


def _read_texts(repository: Repository, pending: InProgress, conflict: Conflict) -> dict[str, str]:
    """Read the texts of the messages that set the values of a conflict."""
    positions = (*conflict.base, *conflict.source, *conflict.target)
    missing = {position.message for position in positions if position.message is not None}
    found: dict[str, str] = {}
    for commit in walk_newest_first(repository, [pending.tip, pending.source_tip]):
        if not missing:
            break
        message = message_id_of(commit)
        if message in missing:
            missing.discard(message)
            found[message] = read_message(repository, commit.oid).text
    return found


def _list_discussion(repository: Repository, pending: InProgress) -> list[MessageHead]:
    """Return the messages of agents and people on the conflict-resolution branch, newest first."""
    heads = walk_heads_newest_first(repository, [pending.tip], {pending.stopped})
    return [head for head in heads if head.author_kind in _DISCUSSING_KINDS and head.kind != "notice"]


def find_conflict(repository: Repository, conversation: ConversationId, name: str) -> tuple[ConflictRow, InProgress]:
    """Find a conflict by id, number, or prefix of an id; up to three digits are always a number.

    Raises:
        NotFound, Ambiguous: none or several match.
    """
    rows = list(_walk_rows(repository, conversation))
    found = [pair for pair in rows if pair[0].conflict.id == name]
    found = found or [pair for pair in rows if name.isdecimal() and name == str(pair[0].number)]
    is_prefix = name and not (name.isdecimal() and len(name) <= _LONGEST_NUMBER)
    found = found or [pair for pair in rows if is_prefix and pair[0].conflict.id.startswith(name)]
    if not found:
        hint = f"list them: scopes conflicts list {conversation}"
        raise NotFound(f"there is no conflict {name!a} in {conversation}", hint=hint)
    if len(found) > 1:
        names = ", ".join(f"{row.number} ({row.conflict.id} on {row.branch})" for row, _ in found[:8])
        hint = f"name one by its number: {names}"
        raise Ambiguous(f"{name!a} matches {len(found)} conflicts of {conversation}", hint=hint)
    return found[0]
