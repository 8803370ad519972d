"""`conflicts list` and `conflicts show`: what two lines of history disagree on, and how far that has come (S4-56)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.messages import MessageHead, message_id_of, read_message, walk_heads_newest_first
from scopes.history.revparse import conversation_ids, find_conversation
from scopes.ids import BranchName, ConversationId
from scopes.merge.in_progress import InProgress, list_conflicts_of, list_in_progress
from scopes.model.conflict import STATUSES, Conflict
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository

_LONGEST_NUMBER = 3
_TALKERS = frozenset({"human", "agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """One conflict with the branch that it waits on; `number` counts from 1 within the branch, `since` is a time.

    `kind` tells what waits: a merge, a rebase or a cherry-pick.
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
    """One conflict with the texts of the messages behind it, by id, and what was said since, oldest first."""

    row: ConflictRow
    texts: Mapping[str, str]
    talk: tuple[MessageHead, ...]


def list_conflicts(
    repository: Repository, conversation: str | None = None, *, status: str | None = None, every: bool = False
) -> ConflictList:
    """List what waits for a resolution; with `every` also what was resolved on the same branches.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise Invalid(f"{status!a} is no status of a conflict", hint="statuses: " + ", ".join(STATUSES))
    chosen = None if conversation is None else find_conversation(repository, conversation)
    places = conversation_ids(repository) if chosen is None else [chosen]
    rows = [row for place in places for row in walk_conflicts(repository, place)]
    wanted = {status} if status is not None else set(STATUSES) if every else set(STATUSES) - {"resolved"}
    return ConflictList(conversation=chosen, conflicts=tuple(row for row in rows if row.conflict.status in wanted))


def show_conflict(repository: Repository, conversation: str, conflict: str) -> ConflictView:
    """Show one conflict, named by its id, the start of it, or its number.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
    """
    chosen = find_conversation(repository, conversation)
    row, pending = find_conflict(repository, chosen, conflict)
    texts = _texts(repository, pending, row.conflict)
    return ConflictView(row=row, texts=texts, talk=tuple(reversed(_talk(repository, pending))))


def walk_conflicts(repository: Repository, conversation: ConversationId) -> Iterator[ConflictRow]:
    """Yield the conflicts that wait in a conversation, by branch, then by key; no two have one number."""
    yield from (row for row, _ in _walk_rows(repository, conversation))


def _walk_rows(repository: Repository, conversation: ConversationId) -> Iterator[tuple[ConflictRow, InProgress]]:
    before = 0
    for pending in list_in_progress(repository, conversation):
        for row in _rows(repository, pending, before):
            yield row, pending
            before = row.number


def _rows(repository: Repository, pending: InProgress, before: int) -> Iterator[ConflictRow]:
    talked = bool(_talk(repository, pending))
    for number, record in enumerate(list_conflicts_of(repository, pending), before + 1):
        status = "debate" if record.status == "open" and talked else record.status
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


def _texts(repository: Repository, pending: InProgress, conflict: Conflict) -> dict[str, str]:
    """Read what the messages behind the positions of a conflict say."""
    said = (*conflict.base, *conflict.source, *conflict.target)
    missing = {position.message for position in said if position.message is not None}
    found: dict[str, str] = {}
    for commit in walk_newest_first(repository, [pending.tip, pending.source_tip]):
        if not missing:
            break
        identity = message_id_of(commit)
        if identity in missing:
            missing.discard(identity)
            found[identity] = read_message(repository, commit.oid).text
    return found


def _talk(repository: Repository, pending: InProgress) -> list[MessageHead]:
    """Return what agents and people have said on the branch since it waits, newest first."""
    heads = walk_heads_newest_first(repository, [pending.tip], {pending.stopped})
    return [head for head in heads if head.author_kind in _TALKERS and head.kind != "notice"]


def find_conflict(repository: Repository, conversation: ConversationId, name: str) -> tuple[ConflictRow, InProgress]:
    """Resolve a conflict of a conversation by id, number, or start of an id, which a short number never is.

    Raises:
        NotFound, Ambiguous: none or several have that name.
    """
    rows = list(_walk_rows(repository, conversation))
    found = [pair for pair in rows if pair[0].conflict.id == name]
    found = found or [pair for pair in rows if name.isdecimal() and name == str(pair[0].number)]
    is_start = name and not (name.isdecimal() and len(name) <= _LONGEST_NUMBER)
    found = found or [pair for pair in rows if is_start and pair[0].conflict.id.startswith(name)]
    if not found:
        hint = f"list them: scopes conflicts list {conversation}"
        raise NotFound(f"there is no conflict {name!a} in {conversation}", hint=hint)
    if len(found) > 1:
        names = ", ".join(f"{row.number} ({row.conflict.id} on {row.branch})" for row, _ in found[:8])
        hint = f"name one by its number: {names}"
        raise Ambiguous(f"{name!a} fits {len(found)} conflicts of {conversation}", hint=hint)
    return found[0]
