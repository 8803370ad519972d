"""Which records of a fork are copies of the history it began from.

A fork of the older kind opens with its own session record, then its parent's, then all that the parent had written,
byte for byte but for the time, which is the fork's. The copies end where the thread itself is first heard: its own
session record again, a record that names the thread, or a turn that is not older than the thread (their ids are of
version 7 and begin with their time). Where no turn has such an id, they end at the first pause.
"""

from __future__ import annotations

import re

from scopes.clock import parse_time
from scopes.importers.formats.codex.record import (
    EVENT,
    ITEM,
    SESSION,
    TURN,
    USAGE,
    RolloutRecord,
    object_field,
    text_field,
)

_PAUSE = 1_000_000_000  # nanoseconds; copies are written without one
_SPAWNED = "You are the newly spawned agent."  # the only record before the first turn that the parent did not write
_TIMED_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class ForkCopies:
    """Tells copies from a thread's own records, in the order in which they stand."""

    def __init__(self, thread: str) -> None:
        self._thread = thread
        self._born = _moment_of(thread)
        self._timed = False
        self._last: int | None = None
        self._copying = False
        self.ended_by_spawn = (
            False  # the last record was a sub-agent's greeting, which is the result of the call it is from
        )

    def is_copy(self, line: RolloutRecord) -> bool:
        """Take the next record, and tell whether it is a copy."""
        if line.kind == SESSION:
            self._copying = text_field(line.payload, "id") != self._thread
            self._last = parse_time(line.time or "")
            return self._copying
        if self._copying:
            self._copying = not (self._is_own(line) or self._is_after_pause(line))
        return self._copying

    def _is_own(self, line: RolloutRecord) -> bool:
        """Tell whether a record can only be the thread's own."""
        payload = line.payload
        if line.kind in {EVENT, USAGE} and text_field(payload, "thread_id") == self._thread:
            return True
        if line.kind == TURN or (line.kind == EVENT and line.type == "task_started"):
            begun = _moment_of(text_field(payload, "turn_id") or "")
            self._timed = self._timed or begun is not None
            return self._born is not None and begun is not None and begun >= self._born
        if line.kind == ITEM and line.type == "function_call_output":
            self.ended_by_spawn = (text_field(payload, "output") or "").startswith(_SPAWNED)
            return self.ended_by_spawn
        return False

    def _is_after_pause(self, line: RolloutRecord) -> bool:
        now = parse_time(line.time or "")
        paused = self._last is not None and now is not None and now - self._last > _PAUSE
        self._last = now if now is not None else self._last
        return paused and not (self._timed and self._born is not None)


def parent_thread(line: RolloutRecord) -> str | None:
    """Return the thread that a session record says its thread is a sub-agent of."""
    spawn = object_field(object_field(object_field(line.payload, "source"), "subagent"), "thread_spawn")
    return text_field(spawn, "parent_thread_id") or text_field(line.payload, "parent_thread_id")


def _moment_of(name: str) -> int | None:
    """Return the milliseconds since 1970 that an id of version 7 begins with."""
    found = _TIMED_ID.fullmatch(name)
    return int(found[1] + found[2], 16) if found else None
