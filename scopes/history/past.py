"""The history of a store for undo: its operations, and between them the appends, which only the reflogs record.

An append is shown as an operation of the kind `append`. Its id is that of the first message of the command, and its one
ref change goes from the commit below the first message to the last message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from scopes.clock import format_time, now_nanoseconds, parse_date, parse_time
from scopes.errors import Invalid, NotFound
from scopes.history.activity import with_summary
from scopes.history.messages import header_of, is_root, read_message
from scopes.history.names import parse_latest, split_time
from scopes.ids import ConversationId, MessageId, Oid, OperationId
from scopes.model.message import Message
from scopes.model.operation import Operation, RefChange
from scopes.result import Note, plural
from scopes.sanitize import mark_cut
from scopes.store import refs
from scopes.store.maintenance import EXPIRE
from scopes.store.objects import read_commit
from scopes.store.operations import (
    OPERATION_PREFIX_LENGTH,
    AppendNote,
    RefMove,
    find_operation,
    has_log,
    list_logs,
    parse_append,
    walk_moves,
    walk_operations,
)
from scopes.store.repository import Repository
from scopes.store.transactions import renamed_branches

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
    newer: set[str] = set()
    expired = False
    for commit, record in walk_operations(repository):
        newer.add(commit[:OPERATION_PREFIX_LENGTH])
        while (append := appends.find_next()) is not None and _is_newer(append, record, newer, expired=expired):
            appends.taken.add(append.id)
            yield from _as_operation(repository, append)
        expired = expired or record.kind == EXPIRE
        if conversation is None or record.kind == EXPIRE or conversation in conversations_of(record):
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
    files = list_logs(repository, refs.HEADS if conversation is None else f"{refs.HEADS}{conversation}/")
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


_Log = list[tuple[Oid, Operation]]


class _PointInTime(NamedTuple):
    """A point in the history of a store.

    newer, older: the operations after it, and those up to it, newest first. nanoseconds: its time.
    last: the commit of the last operation before it; None if there is none.
    by_time: it was named by a time, so that appends are compared by their times.
    """

    newer: _Log
    older: _Log
    last: Oid | None
    nanoseconds: int
    by_time: bool


def show_past(repository: Repository, text: str) -> Note | None:
    """Make a repository show its refs as they were at a point, and refuse to write.

    text: a unique prefix of the id of an operation; `@` for the newest one, `@-` or `@{2}` for those before it; or a
        time, such as '2 hours ago' or `@{yesterday}`.

    Return a note if it is a time before the first operation, when nothing was in the store.

    Raises:
        NotFound, Ambiguous: no operation or several match; or it was deleted by `gc --expire`.
        Corrupt: an operation record is damaged.
    """
    point = _find_point(repository, text)
    values: dict[str, str | None] = dict(repository.list_refs())
    for _, record in point.newer:
        values |= {change.ref: change.old for change in record.changes}
    values[refs.OPERATIONS] = point.last
    later_appends = _LaterAppends(point)
    known = {change.ref: change.new for _, record in reversed(point.older) for change in record.changes}
    logs = _find_logs(repository, point.newer)
    for ref, value in values.items():
        if value is not None and ref.startswith(refs.HEADS):
            moves = walk_moves(repository, logs.get(ref, ref))
            values[ref] = _before_appends(repository, moves, value, known.get(ref), later_appends)
    repository.override_refs({ref: value for ref, value in sorted(values.items()) if value is not None})
    return _note_empty(point)


def find_recorded_operation(repository: Repository, text: str) -> tuple[Oid, Operation]:
    """Return an operation and its commit, given a unique prefix of its id, its place (`@`, `@-`), or `@{TIME}`.

    The operation of a time is the last one before it.

    Raises:
        NotFound, Ambiguous: no operation or several match.
        Invalid: the time between the braces cannot be parsed.
    """
    if text.startswith("@"):
        older = _find_point(repository, text).older
        if not older:
            raise NotFound(f"there is no operation {text!a}", hint="list them: scopes operations list")
        return older[0]
    commits = {record.id: (oid, record) for oid, record in walk_operations(repository)}
    return commits[find_operation((record for _, record in commits.values()), text).id]


def _note_empty(point: _PointInTime) -> Note | None:
    """Return a note if a point is before the first operation; not if older operations may have expired."""
    if point.last is not None or not point.newer or any(record.kind == EXPIRE for _, record in point.newer):
        return None
    first = point.newer[-1][1].time
    return Note(f"nothing was in the store then: its first operation is from {first}", "see: scopes operations list")


def _find_point(repository: Repository, text: str) -> _PointInTime:
    log = list(walk_operations(repository))
    number = parse_latest(text)
    if number is not None:
        if number >= len(log):
            raise NotFound(f"there is no operation {text}", hint=f"there are {len(log)}; the newest is @")
        return _point_after(log, number)
    name, time = split_time(text)
    if time is not None and not name:
        return _point_at(log, parse_date(time, now_nanoseconds()))
    try:
        found = find_operation((record for _, record in log), text)
    except NotFound:
        try:
            return _point_at(log, parse_date(text, now_nanoseconds()))
        except Invalid:
            pass
        raise
    return _point_after(log, next(number for number, (_, record) in enumerate(log) if record.id == found.id))


def _point_after(log: _Log, number: int) -> _PointInTime:
    commit, record = log[number]
    return _PointInTime(log[:number], log[number:], commit, parse_time(record.time) or 0, by_time=False)


def _point_at(log: _Log, nanoseconds: int) -> _PointInTime:
    number = next((n for n, (_, record) in enumerate(log) if (parse_time(record.time) or 0) <= nanoseconds), len(log))
    last = log[number][0] if number < len(log) else None
    return _PointInTime(log[:number], log[number:], last, nanoseconds, by_time=True)


def _find_logs(repository: Repository, newer: _Log) -> Mapping[str, str]:
    """Return the refs that have the reflogs of branches from before operations now; the others have their own."""
    logs: dict[str, str] = {}
    for _, record in newer:
        new_names = {old: new for new, old in renamed_branches(record.changes).items()}
        found: dict[str, str] = {}
        for change in record.changes:
            new_name = new_names.get(change.ref)
            if new_name is not None:
                is_moved = new_name in logs or has_log(repository, new_name)
                found[change.ref] = logs.get(new_name, new_name) if is_moved else logs.get(change.ref, change.ref)
        logs |= found
    return logs


def _before_appends(
    repository: Repository, moves: Iterable[RefMove], value: str, known: str | None, later: _LaterAppends
) -> str:
    """Return the value of a branch before the appends that were made after the point.

    `moves` are those of the branch, newest first, and may include others. `known` is the value that the last operation
    before the point gave it.
    """
    before: dict[str, str] = {}
    last_append: str | None = None
    for move in moves:
        append = parse_append(move)
        if append is None:
            continue
        if not later.has(append, move):
            last_append = move.new
            break
        before[move.new] = move.old
    seen: set[str] = set()
    while value in before and value not in seen:
        seen.add(value)
        value = before[value]
    return value if value in {known, last_append} else _before_messages(repository, Oid(value), known, later)


def _before_messages(repository: Repository, tip: Oid, known: str | None, later: _LaterAppends) -> Oid:
    """Return the last commit that is not later than the point by the time of its message, or the known one."""
    while tip != known:
        commit = read_commit(repository, tip)
        if is_root(commit) or not commit.parents or not later.has_message(read_message(repository, tip)):
            break
        tip = commit.parents[0]
    return tip


class _LaterAppends:
    """The appends that were made after a point.

    An append names the tip of the operation log at its time, by a prefix of its commit. Expire writes the log anew, so
    that those before it name commits that no longer exist: these are compared by time.
    """

    def __init__(self, point: _PointInTime) -> None:
        self._point = point
        commits = [commit for commit, _ in point.newer] + ([] if point.last is None else [point.last])
        self._operation_prefixes = {commit[:OPERATION_PREFIX_LENGTH] for commit in commits}
        self._expired = any(record.kind == EXPIRE for _, record in point.newer)

    def has(self, append: AppendNote, move: RefMove) -> bool:
        """Return True if an append was made after the point; `move` is its line in the reflog."""
        is_known = append.after in self._operation_prefixes
        if not self._point.by_time and (is_known or not self._expired):
            return is_known
        nanoseconds = parse_time(append.time) or move.time * _SECOND
        return nanoseconds > self._point.nanoseconds

    def has_message(self, message: Message) -> bool:
        """Return True if a message was written after the point, by its own time."""
        return message.time is not None and (parse_time(message.time) or 0) > self._point.nanoseconds
