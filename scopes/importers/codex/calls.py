"""Tool calls on their way to their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scopes.importers.codex.patches import touched_by_call
from scopes.importers.codex.reports import Report
from scopes.model.message import FileTouch, Part


@dataclass(frozen=True, slots=True)
class Call:
    """A call that waits for its result: its answer, its tool, the files it is to change, and what was told of it."""

    answer: str
    tool: str
    touches: tuple[FileTouch, ...]
    reports: list[Report] = field(default_factory=list)


class Calls:
    """The calls that have no result yet, by their ids; several may wait at once."""

    def __init__(self) -> None:
        self._waiting: dict[str, Call] = {}
        self._reported: dict[str, None] = {}

    def expect(self, answer: str, parts: tuple[Part, ...]) -> None:
        """Remember the calls among the parts of an answer."""
        for part in parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call" and call_id is not None:
                self._waiting.setdefault(call_id, Call(answer, part.fields["name"], touched_by_call(part)))

    def take(self, call_id: str) -> Call | None:
        """Return the call that a result belongs to; it waits no longer."""
        self._reported.pop(call_id, None)
        return self._waiting.pop(call_id, None)

    def report(self, report: Report) -> bool:
        """Keep a report for the result that it is about; False when none is awaited."""
        call = self._waiting.get(report.call_id)
        if call is None:
            return False
        call.reports.append(report)
        self._reported[report.call_id] = None
        return True

    def drop_reports(self) -> Iterator[Report]:
        """Forget the reports of calls whose turn has ended without their results, and yield them."""
        for call_id in self._reported:
            reports = self._waiting[call_id].reports
            yield from reports
            reports.clear()
        self._reported.clear()
