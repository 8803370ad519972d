"""Show a store as it was after an earlier operation, or at an earlier time, without changing it.

Operation records have the old and the new value of every ref that they moved, so the newer ones are reverted in memory.
Appends have no record: their lines in the reflogs tell which of them were made later. The reflog of a branch that was
renamed or deleted later is that of its new name, or of its place in the trash. Where git has removed lines because they
expired, or with the branch, the times of the messages tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.clock import now_nanoseconds, parse_date, parse_time
from scopes.errors import Invalid, NotFound
from scopes.history.messages import is_root, read_message
from scopes.history.name_syntax import parse_latest, split_time
from scopes.ids import Oid
from scopes.model.message import Message
from scopes.model.operation import Operation
from scopes.result import Note
from scopes.store import refs
from scopes.store.expire import EXPIRE
from scopes.store.operation_log import find_operation, walk_operations
from scopes.store.recovery import renamed_branches
from scopes.store.reflog import (
    OPERATION_PREFIX_LENGTH,
    AppendNote,
    RefMove,
    has_log,
    parse_append,
    walk_moves,
)
from scopes.store.repository import Repository, read_commit

_SECOND = 1_000_000_000
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
