"""Find the records of a fork that are copies of its parent's.

A fork of the older kind begins with its own session record, its parent's, and all records of the parent, with a new
time. The copies end at the first record of the thread itself: its own session record again, a record that names the
thread, or a turn that is not older than the thread (UUIDv7 ids begin with their time). If no turn has such an id, the
copies end at the first pause.
"""

from __future__ import annotations

import re

from scopes.clock import parse_time
from scopes.importers.formats.codex.record import EVENT, ITEM, SESSION, TURN, USAGE, RolloutRecord
from scopes.importers.formats.fields import object_field, text_field

_PAUSE = 1_000_000_000  # nanoseconds; copies are written without a pause
_SPAWNED = "You are the newly spawned agent."  # the only record of the fork before its first turn
_TIMED_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class ForkCopies:
    """Separates copied records from a thread's own, in file order."""

    def __init__(self, thread: str) -> None:
        self._thread = thread
        self._created = _time_of_id(thread)
        self._has_turn_time = False
        self._last: int | None = None
        self._copying = False
        self.ended_by_spawn = False  # the copies ended with the result of the call that started this sub-agent

    def is_copy(self, record: RolloutRecord) -> bool:
        """Read the next record; return True if it is a copy."""
        if record.kind == SESSION:
            self._copying = text_field(record.payload, "id") != self._thread
            self._last = parse_time(record.time or "")
            return self._copying
        if self._copying:
            self._copying = not (self._is_own(record) or self._is_after_pause(record))
        return self._copying

    def _is_own(self, record: RolloutRecord) -> bool:
        """Return True if a record can only be the thread's own."""
        payload = record.payload
        if record.kind in {EVENT, USAGE} and text_field(payload, "thread_id") == self._thread:
            return True
        if record.kind == TURN or (record.kind == EVENT and record.type == "task_started"):
            turn_time = _time_of_id(text_field(payload, "turn_id") or "")
            self._has_turn_time = self._has_turn_time or turn_time is not None
            return self._created is not None and turn_time is not None and turn_time >= self._created
        if record.kind == ITEM and record.type == "function_call_output":
            self.ended_by_spawn = (text_field(payload, "output") or "").startswith(_SPAWNED)
            return self.ended_by_spawn
        return False

    def _is_after_pause(self, record: RolloutRecord) -> bool:
        now = parse_time(record.time or "")
        paused = self._last is not None and now is not None and now - self._last > _PAUSE
        self._last = now if now is not None else self._last
        return paused and not (self._has_turn_time and self._created is not None)


def parent_thread(record: RolloutRecord) -> str | None:
    """Return the id of the thread that started this one as a sub-agent, from a session record."""
    spawn = object_field(object_field(object_field(record.payload, "source"), "subagent"), "thread_spawn")
    return text_field(spawn, "parent_thread_id") or text_field(record.payload, "parent_thread_id")


def _time_of_id(name: str) -> int | None:
    """Return the time in a UUIDv7, in milliseconds since 1970; None for other ids."""
    found = _TIMED_ID.fullmatch(name)
    return int(found[1] + found[2], 16) if found else None
