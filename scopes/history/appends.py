"""The history of a store for undo: its operations, and between them the appends, which only the reflogs record.

An append is shown as an operation of the kind `append`. Its id is that of the first message of the command, and its one
ref change goes from the commit below the first message to the last message.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from scopes.clock import format_time, parse_time
from scopes.errors import NotFound
from scopes.history.messages import header_of
from scopes.history.shared_refs import ConversationFilter
from scopes.history.tool_calls import with_summary
from scopes.ids import ConversationId, MessageId, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.result import plural
from scopes.sanitize import mark_cut
from scopes.store import refs
from scopes.store.expire import EXPIRE
from scopes.store.operation_log import walk_operations
from scopes.store.reflog import (
    OPERATION_PREFIX_LENGTH,
    AppendNote,
    RefMove,
    list_logs_by_time,
    parse_append,
    walk_moves,
)
from scopes.store.repository import Repository, read_commit

APPEND, UNDO = "append", "undo"
_SECOND = 1_000_000_000


class Append(NamedTuple):
    """The messages that one command appended to one branch.

    Attributes:
        nanoseconds: the time of the last message, since 1970.
        id: the id of the first message.
        after: the start of the id of the operation log's tip at that time.
        ref: the branch.
        moves: the moves of the ref, newest first, each with the id of its message.
        contiguous: False if another command appended to the branch between them.
        operation: the append as an operation, if it was read from the record of an undo.
    """

    nanoseconds: int
    id: MessageId
    after: str
    ref: str
    moves: tuple[tuple[RefMove, str], ...]
    contiguous: bool
    operation: Operation | None = None


def walk_history(repository: Repository, conversation: ConversationId | None = None) -> Iterator[Operation]:
    """Yield operations and appends, newest first; of one conversation, if it is given.

    Raises:
        Corrupt, NotFound: an operation record is damaged or missing.
    """
    appends = _Appends(walk_appends(repository, conversation))
    of_conversation = None if conversation is None else ConversationFilter(repository, conversation)
    newer: set[str] = set()
    expired = False
    for commit, record in walk_operations(repository):
        newer.add(commit[:OPERATION_PREFIX_LENGTH])
        while (append := appends.find_next()) is not None and _is_newer(append, record, newer, expired=expired):
            appends.taken.add(append.id)
            yield from _as_operation(repository, append)
        expired = expired or record.kind == EXPIRE
        if of_conversation is None or record.kind == EXPIRE or of_conversation.matches(record):
            appends.add_undone(record)
            yield record
    while (append := appends.find_next()) is not None:
        appends.taken.add(append.id)
        yield from _as_operation(repository, append)


class _Appends:
    """The appends of the reflogs, and those that were undone, in the order of their times, newest first.

    Git deletes the reflog of a branch with the branch. If both are made again by redo, only the record of the undo
    still has the append. `taken` are those that were yielded.
    """

    def __init__(self, logged: Iterator[Append]) -> None:
        self._logged = logged
        self._next = next(logged, None)
        self._undone: list[tuple[int, int, Append]] = []
        self._number = count()
        self.taken: set[MessageId] = set()

    def add_undone(self, record: Operation) -> None:
        """Add the append that an undo took back; nothing for another operation."""
        saved = record.details.get(APPEND)
        if record.kind != UNDO or not isinstance(saved, dict) or record.undoes is None:
            return
        operation = Operation(
            id=record.undoes,
            kind=APPEND,
            summary=record.summary.removeprefix("undo "),
            command="",
            actor=str(saved.get("actor")),
            time=str(saved.get("time")),
            changes=tuple(RefChange(change.ref, change.new, change.old) for change in record.changes),
            details={key: value for key, value in saved.items() if key not in ("actor", "time")},
        )
        nanoseconds, after = parse_time(operation.time) or 0, str(saved.get("after"))
        append = Append(nanoseconds, MessageId(record.undoes), after, "", (), contiguous=True, operation=operation)
        heappush(self._undone, (-nanoseconds, next(self._number), append))

    def find_next(self) -> Append | None:
        """Return the newest append that was not taken."""
        while self._undone and self._undone[0][2].id in self.taken:
            heappop(self._undone)
        while self._next is not None and self._next.id in self.taken:
            self._next = next(self._logged, None)
        first = self._undone[0][2] if self._undone else None
        if first is None or (self._next is not None and self._next.nanoseconds >= first.nanoseconds):
            return self._next
        return first


def conversations_of(record: Operation) -> set[ConversationId]:
    """Return the conversations whose refs an operation moved."""
    found = (refs.conversation_of(change.ref) for change in record.changes)
    return {conversation for conversation in found if conversation is not None}


def walk_appends(repository: Repository, conversation: ConversationId | None = None) -> Iterator[Append]:
    """Yield the appends to all branches, or to those of one conversation, the last one first.

    Reflogs are read in the order of their files' times, so that the first appends come without reading all of them.
    """
    files = list_logs_by_time(repository, refs.HEADS if conversation is None else f"{refs.HEADS}{conversation}/")
    number = count()
    heap: list[tuple[int, int, Append, Iterator[Append]]] = []

    def push(appends: Iterator[Append]) -> None:
        append = next(appends, None)
        if append is not None:
            heappush(heap, (-append.nanoseconds, next(number), append, appends))

    while files or heap:
        while files and (not heap or files[-1][0] >= heap[0][2].moves[0][0].time):
            push(_walk_branch(repository, files.pop()[1]))
        if heap:
            _, _, append, appends = heappop(heap)
            yield append
            push(appends)


def _walk_branch(repository: Repository, ref: str) -> Iterator[Append]:
    """Yield the appends to one branch, newest first; an append is complete at its first message."""
    commands: dict[str, list[tuple[int, RefMove, AppendNote]]] = {}
    for position, move in enumerate(walk_moves(repository, ref)):
        note = parse_append(move)
        if note is not None:
            commands.setdefault(note.first, []).append((position, move, note))
            if note.message == note.first:
                yield _append(ref, commands.pop(note.first))
    for lines in commands.values():  # the reflog was cut: git expires old lines
        yield _append(ref, lines)


def _append(ref: str, lines: list[tuple[int, RefMove, AppendNote]]) -> Append:
    (last_position, last, note), (first_position, _, first_note) = lines[0], lines[-1]
    return Append(
        nanoseconds=parse_time(note.time) or last.time * _SECOND,
        id=MessageId(first_note.message),
        after=note.after,
        ref=ref,
        moves=tuple((move, note.message) for _, move, note in lines),
        contiguous=first_position - last_position == len(lines) - 1,
    )


def _is_newer(append: Append, record: Operation, newer: set[str], *, expired: bool) -> bool:
    """Return True if an append came after an operation; `newer` marks this operation and those after it.

    An append names the tip of the operation log at its time. Expire writes the log anew, so that appends before an
    expire name commits that no longer exist: these are compared by time.
    """
    if append.after in newer or not expired:
        return append.after in newer
    return append.nanoseconds > (parse_time(record.time) or 0)


def _as_operation(repository: Repository, append: Append) -> Iterator[Operation]:
    """Yield an append as an operation; nothing if its messages were deleted since."""
    if append.operation is not None:
        yield append.operation
        return
    (last, _), (first, _) = append.moves[0], append.moves[-1]
    try:
        head = with_summary(repository, header_of(read_commit(repository, first.new)))
    except NotFound:
        return
    where = append.ref.removeprefix(refs.HEADS)
    conversation, _, branch = where.partition("/")
    actor = last.actor or head.author
    by = head.author if head.author == actor else f"{head.author}, appended by {actor}"
    number = len(append.moves)
    yield Operation(
        id=OperationId(append.id),
        kind=APPEND,
        summary=f"append to {where} by {by}: '{mark_cut(head.subject)}' ({number} {plural(number, 'message')})",
        command="",
        actor=actor,
        time=format_time(append.nanoseconds),
        changes=(RefChange(append.ref, first.old, last.new),),
        details={
            "conversation": conversation,
            "branch": branch,
            "messages": [message for _, message in reversed(append.moves)],
            "after": append.after,
            **({} if append.contiguous else {"contiguous": False}),
        },
    )
