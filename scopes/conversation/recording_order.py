"""The order in which messages and operations of a conversation were recorded, and when, for the change log.

Operations are in the order of their log. A message is between the operations that the log proves to be before and after
it, at its own time, if that is possible. It is not if somebody gave it another time, or if clocks differ: then it has
the time of the operation that wrote it, or of the line of the reflog that its append left. A copy of a store without
reflogs has that of the message before it instead.

A transcript is a record too: imported messages have their own times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from scopes.clock import format_time, parse_time
from scopes.history.appends import walk_appends
from scopes.history.messages import MessageHeader
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.store.objects import Commit
from scopes.store.operation_log import walk_operations
from scopes.store.reflog import OPERATION_PREFIX_LENGTH
from scopes.store.repository import Repository

_OF_TRANSCRIPTS = frozenset({"import"})  # kinds of operations
_CREATES = "new"
_OWN = "scopes"  # the author of merges and their notices, whose commits have the time of the newest merged message


class Position(NamedTuple):
    """A place in the order: nanoseconds since 1970; at one time 2n + 1 for operation n, 2n for what is before it."""

    nanoseconds: int
    step: int


class _Append(NamedTuple):
    """What the reflog says: the number of the operation before an append, if that is known, and the time."""

    after: int | None
    nanoseconds: int


_START = Position(0, 0)
_NEVER = 1 << 80  # nanoseconds: later than every time that can be parsed


class RecordingOrder:
    """The operations of a store, oldest first, and the places of messages between them."""

    def __init__(self, repository: Repository) -> None:
        """Read the operation log.

        Raises:
            Corrupt, NotFound: a record of the log is damaged or missing.
        """
        self._repository = repository
        log = list(walk_operations(repository))[::-1]
        self.records = [record for _, record in log]
        times = (parse_time(record.time) or 0 for record in self.records)
        self._moments = list(accumulate(times, max))  # a clock may go back
        self._numbers = {commit[:OPERATION_PREFIX_LENGTH]: number for number, (commit, _) in enumerate(log)}
        self._first: dict[Oid, tuple[int, bool]] = {}
        self._appends: dict[Oid, _Append] = {}
        self._positions: dict[Oid, Position] = {}
        self._recorded: dict[Oid, str] = {}  # when
        self._numbers_of_records = {record.id: number for number, record in enumerate(self.records)}

    def position_of(self, number: int) -> Position:
        """Return the place of an operation."""
        return Position(self._moments[number], 2 * number + 1)

    def position_of_record(self, record: Operation) -> Position:
        """Return the place of an operation of the log."""
        return self.position_of(self._numbers_of_records[record.id])

    def time_of(self, number: int) -> str:
        """Return when an operation was recorded; if the clock had gone back, the time of the one before."""
        time, moment = self.records[number].time, self._moments[number]
        return time if parse_time(time) == moment else format_time(moment)

    def place_time(self, time: str) -> Position:
        """Return the place of what happened at a time, without an operation or a message."""
        return Position(parse_time(time) or 0, 2 * len(self.records))

    def read_moves(
        self,
        conversation: ConversationId,
        moves: Mapping[OperationId, Mapping[BranchName, RefChange]],
        parents: Mapping[Oid, Sequence[Oid]],
    ) -> None:
        """Find what is known about the commits of a conversation, given the moves of its branches by operation id."""
        for number, record in enumerate(self.records):
            for change in moves.get(record.id, {}).values():
                for value, is_new in ((change.old, False), (change.new, True)):
                    self._see(value, (number, is_new), parents)
        for append in walk_appends(self._repository, conversation):
            after = self._numbers.get(append.after)
            self._appends |= {move.new: _Append(after, append.nanoseconds) for move, _ in append.moves}

    def _see(self, tip: str | None, seen: tuple[int, bool], parents: Mapping[Oid, Sequence[Oid]]) -> None:
        waiting = [] if tip is None else [Oid(tip)]
        while waiting:
            oid = waiting.pop()
            if oid not in self._first and oid in parents:
                self._first[oid] = seen
                waiting.extend(parents[oid])

    def place_root(self, oid: Oid) -> None:
        """Place the root commit, which is no row: messages that were not imported come after what created it."""
        number, _ = self._first.get(oid, (None, False))
        is_created = number is not None and self.records[number].kind == _CREATES
        self._positions[oid] = self.position_of(number) if number is not None and is_created else _START

    def place(self, commit: Commit, head: MessageHeader, time: str) -> tuple[Position, str]:
        """Return the place of a message and when it was recorded, given its own time; parents come first."""
        append = self._appends.get(commit.oid)
        number, is_new = self._first.get(commit.oid, (None, False))
        is_written = is_new and append is None and number is not None
        low = max((self._positions[parent] for parent in commit.parents), default=_START)
        low, high = self._between(low, number, append)
        own = moment = parse_time(time) or 0
        is_merge = is_written and head.author == _OWN and head.author_kind == "system"
        if is_merge or not low.nanoseconds <= own <= high.nanoseconds:
            if is_written and number is not None and self.records[number].kind not in _OF_TRANSCRIPTS:
                moment = high.nanoseconds
            elif append is not None:
                moment = append.nanoseconds
        found = max(low, Position(min(moment, high.nanoseconds), high.step))
        self._positions[commit.oid] = found
        self._recorded[commit.oid] = recorded = time if found.nanoseconds == own else format_time(found.nanoseconds)
        return found, recorded

    def find_place(self, oid: Oid) -> tuple[Position, str] | None:
        """Return the place of a message that was placed, and when it was recorded; None for another commit."""
        return (self._positions[oid], self._recorded[oid]) if oid in self._recorded else None

    def _between(self, low: Position, number: int | None, append: _Append | None) -> tuple[Position, Position]:
        """Return the bounds of a message: its parents and the first operation that has it, or closer ones."""
        if append is not None and append.after is not None:
            number = append.after + 1  # the first operation after the append
            low = max(low, Position(self._moments[append.after], 2 * number))
        if number is None or number == len(self.records):
            return low, Position(_NEVER, 2 * len(self.records))
        return low, Position(self._moments[number], 2 * number)
