"""Pending tool calls, and the UI events that report what became of them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.codex.items import with_exit_code
from scopes.importers.formats.codex.patches import touched_by_call, touched_by_changes
from scopes.importers.formats.codex.record import RolloutRecord
from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.model.message import FileTouch, Part

_Found = tuple[dict[str, Any], tuple[FileTouch, ...] | None]


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A tool call without a result yet: its answer, its tool, the files that it will change, and reports about it."""

    answer: str
    tool: str
    touches: tuple[FileTouch, ...]
    reports: list[ToolReport] = field(default_factory=list)


class PendingCalls:
    """The tool calls that have no result yet, by id."""

    def __init__(self) -> None:
        self._pending: dict[str, PendingCall] = {}
        self._reported: dict[str, None] = {}

    def add(self, answer: str, parts: tuple[Part, ...]) -> None:
        """Add the tool calls among the parts of an answer."""
        for part in parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call" and call_id is not None:
                self._pending.setdefault(call_id, PendingCall(answer, part.fields["name"], touched_by_call(part)))

    def take(self, call_id: str) -> PendingCall | None:
        """Return and remove the call of a tool result."""
        self._reported.pop(call_id, None)
        return self._pending.pop(call_id, None)

    def add_report(self, report: ToolReport) -> bool:
        """Keep a report until the result comes; return False if the call is not pending."""
        call = self._pending.get(report.call_id)
        if call is None:
            return False
        call.reports.append(report)
        self._reported[report.call_id] = None
        return True

    def drop_reports(self) -> Iterator[ToolReport]:
        """Remove and yield the reports of calls whose turn has ended without a result."""
        for call_id in self._reported:
            reports = self._pending[call_id].reports
            yield from reports
            reports.clear()
        self._reported.clear()


@dataclass(frozen=True, slots=True)
class ToolReport:
    """A UI event about a tool call: fields of its result and the files that it touched; None if it does not say."""

    call_id: str
    key: str
    fields: Mapping[str, Any]
    span: ByteRange
    touches: tuple[FileTouch, ...] | None = None


def parse_report(record: RolloutRecord) -> ToolReport | None:
    """Parse an event about a tool call; None if it is another event."""
    item = object_field(record.payload, "item") if record.type == "item_completed" else record.payload
    read = _READERS.get(text_field(item, "type") or "")
    call_id = text_field(item, "id") if item is not record.payload else text_field(item, "call_id")
    if read is None or call_id is None:
        return None
    fields, touches = read(item)
    return ToolReport(call_id, record.key, fields, record.span, touches)


def _read_command(item: Mapping[str, Any]) -> _Found:
    code = item.get("exit_code")
    fields = with_exit_code(code) if type(code) is int else {}
    parsed = item.get("parsed_cmd")
    if code != 0 or not isinstance(parsed, list):
        return fields, None
    cwd = (text_field(item, "cwd") or "").removeprefix("file://")
    paths = [text_field(step, "path") for step in parsed if isinstance(step, dict) and step.get("type") == "read"]
    return fields, tuple(FileTouch(posixpath.join(cwd, path), "read") for path in paths if path) or None


def _read_change(item: Mapping[str, Any]) -> _Found:
    changes = item.get("changes")
    done = item.get("success") is True or item.get("status") == "completed"
    fields: dict[str, Any] = {"is_error": not done}
    if not isinstance(changes, dict):
        return fields, None
    return {**fields, **lossless_field("structured", {"changes": changes})}, touched_by_changes(changes) if done else ()


def _read_remote_call(item: Mapping[str, Any]) -> _Found:
    match item.get("result"):
        case {"Ok": {"isError": bool(failed)}} | {"Ok": {"is_error": bool(failed)}}:
            return {"is_error": failed}, None
        case {"Err": _}:
            return {"is_error": True}, None
    return {}, None


def _read_spawn(item: Mapping[str, Any]) -> _Found:
    details = {name: value for name, value in item.items() if name not in {"type", "call_id", "prompt"}}
    return lossless_field("structured", details), None


_READERS: dict[str, Callable[[Mapping[str, Any]], _Found]] = {
    "exec_command_end": _read_command,
    "CommandExecution": _read_command,
    "patch_apply_end": _read_change,
    "FileChange": _read_change,
    "mcp_tool_call_end": _read_remote_call,
    "collab_agent_spawn_end": _read_spawn,
}
