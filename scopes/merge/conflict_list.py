"""Number the conflicts of the merges and replays in progress in a conversation, and find one by its number or id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scopes.errors import Ambiguous, NotFound
from scopes.history.messages import MessageHeader, walk_headers_newest_first
from scopes.ids import BranchName, ConversationId
from scopes.merge.in_progress import InProgress, list_conflicts_of, list_in_progress
from scopes.model.conflicts import Conflict
from scopes.store.repository import Repository

_MAX_NUMBER_DIGITS = 3
_DISCUSSING_KINDS = frozenset({"human", "agent"})  # kinds of author


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


def walk_conflicts(repository: Repository, conversation: ConversationId) -> Iterator[ConflictRow]:
    """Yield the conflicts of a conversation, resolved ones included, by branch, then by key; numbers are unique."""
    yield from (row for row, _ in _walk_rows(repository, conversation))


def read_conflict(repository: Repository, conversation: ConversationId, name: str) -> tuple[ConflictRow, InProgress]:
    """Return a conflict by its id, its number, or a prefix of its id; up to three digits are always a number.

    Raises:
        NotFound, Ambiguous: none or several match.
    """
    rows = list(_walk_rows(repository, conversation))
    found = [pair for pair in rows if pair[0].conflict.id == name]
    found = found or [pair for pair in rows if name.isdecimal() and name == str(pair[0].number)]
    is_prefix = name and not (name.isdecimal() and len(name) <= _MAX_NUMBER_DIGITS)
    found = found or [pair for pair in rows if is_prefix and pair[0].conflict.id.startswith(name)]
    if not found:
        hint = f"list them: scopes conflicts list {conversation}"
        raise NotFound(f"there is no conflict {name!a} in {conversation}", hint=hint)
    if len(found) > 1:
        names = ", ".join(f"{row.number} ({row.conflict.id} on {row.branch})" for row, _ in found[:8])
        hint = f"name one by its number: {names}"
        raise Ambiguous(f"{name!a} matches {len(found)} conflicts of {conversation}", hint=hint)
    return found[0]


def list_discussion(repository: Repository, in_progress: InProgress) -> list[MessageHeader]:
    """Return the messages of agents and people on the conflict-resolution branch, newest first."""
    heads = walk_headers_newest_first(repository, [in_progress.tip], {in_progress.stopped})
    return [head for head in heads if head.author_kind in _DISCUSSING_KINDS and head.kind != "notice"]


def _walk_rows(repository: Repository, conversation: ConversationId) -> Iterator[tuple[ConflictRow, InProgress]]:
    before = 0
    for in_progress in list_in_progress(repository, conversation):
        for row in _rows(repository, in_progress, before):
            yield row, in_progress
            before = row.number


def _rows(repository: Repository, in_progress: InProgress, before: int) -> Iterator[ConflictRow]:
    discussed = bool(list_discussion(repository, in_progress))
    for number, record in enumerate(list_conflicts_of(repository, in_progress), before + 1):
        status = "debate" if record.status == "open" and discussed else record.status
        yield ConflictRow(
            number=number,
            conversation=in_progress.conversation,
            branch=in_progress.branch,
            source=in_progress.source,
            target=in_progress.target,
            since=in_progress.entry.created,
            conflict=replace(record, status=status),
            kind=in_progress.kind,
        )
