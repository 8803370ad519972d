"""The rows of proposed facts whose time was over before anybody had decided, for the change log.

No operation records that, so it is found from the operations: the system is the cause (S2-20).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from scopes.clock import parse_time
from scopes.conversation.change import Change, FieldChange, cause_of
from scopes.conversation.recording_order import Position, RecordingOrder

_PROPOSED: Final = "proposed_facts."


class LapsedFacts:
    """Finds proposals that expired; it is given what operations changed, in the order of the log."""

    def __init__(self, order: RecordingOrder) -> None:
        self._order = order
        self._waiting: dict[str, tuple[int, Mapping[str, Any]]] = {}  # by field, with the number of the operation
        self._rows: list[tuple[Position, Change]] = []

    def take(self, number: int, changes: Iterable[FieldChange]) -> Iterator[FieldChange]:
        """Yield what an operation changed in facts; a proposal that had expired before has that state before."""
        now = self._order.position_of(number).nanoseconds
        for change in changes:
            if not change.field_path.startswith(_PROPOSED):
                yield change
                continue
            has_lapsed = self._lapse(change.field_path, now)
            yield change._replace(before=_expired(change.before)) if has_lapsed else change
            if change.after is not None and change.after.get("state") == "pending":
                self._waiting[change.field_path] = number, change.after

    def list_rows(self, nanoseconds: int) -> list[tuple[Position, Change]]:
        """Return the rows of all proposals that have expired until a time, with their places."""
        for path in list(self._waiting):
            self._lapse(path, nanoseconds)
        return self._rows

    def _lapse(self, path: str, nanoseconds: int) -> bool:
        """Keep the row of a proposal if its time was over; it waits no more, whether that was so or not."""
        number, document = self._waiting.pop(path, (0, {}))
        expires = document.get("expires")
        end = parse_time(expires) if isinstance(expires, str) else None
        if end is None or end > nanoseconds:
            return False
        put = self._order.position_of(number)  # a redo puts back what has expired already
        time = str(expires) if end >= put.nanoseconds else self._order.time_of(number)
        change = FieldChange(path, document, _expired(document))
        row = change.to_row(time, cause_of("system", ""), self._order.records[number].id)
        self._rows.append((Position(max(end, put.nanoseconds), put.step + 1), row))
        return True


def _expired(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**document, "state": "expired"}
