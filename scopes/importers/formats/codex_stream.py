"""Read what `codex exec --json` prints: the items of one turn, without the prompt, diffs and refused calls.

The numbers of items begin again in every turn of a thread, so the call ids here contain the name of the stream. Token
counts are those of the whole thread up to the end of the turn; they belong to no message.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.codex_items import read_thread_usage, with_exit_code
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.records import Record, digest_of_record, first_records, name_stream
from scopes.importers.formats.run_builder import ANSWER, ERROR, RESULTS, TOOL, RunBuilder, read_beginning, walk_runs
from scopes.model.message import Author, Part

NAME = "codex"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
_STATES = frozenset({"thread.started", "turn.started"})
_SHELL_FLAGS = frozenset({"-c", "-lc"})
_SHELL_WORDS = 3


def is_stream(head: bytes) -> bool:
    """Return True if a source begins with such a stream."""
    if not any(mark in head for mark in (b'"thread.started"', b'"turn.', b'"item.')):
        return False
    return any(map(_is_event, first_records(head)))


def walk_stream_events(source: Source) -> Iterator[Event]:
    """Yield the events of a stream; records of another thread begin another session."""
    yield from walk_runs(source, _StreamReader(first_records(read_beginning(source))))


class _StreamReader:
    """Turns the records of one thread into events."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        started = next((value for value in head if value.get("type") == "thread.started"), {})
        first = digest_of_record(head[0] if head else None)
        self._id = text_field(started, "thread_id") or first
        self._name = name_stream(value for value in head if _has_content(value))
        self._builder = RunBuilder(is_stream=True)
        self._turn = 0
        self._done: set[str] = set()
        self._denials: list[str] = []
        self._errors: list[str] = []
        self._end: RunEnd | None = None
        self.session = Session(format=NAME, native_id=self._id, sub_file=self._name, details={"line": STREAM})

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the stream of another thread."""
        return value.get("type") == "thread.started" and text_field(value, "thread_id") not in {None, self._id}

    def next_run(self, value: dict[str, Any]) -> _StreamReader:
        """Return the reader of the session that a record begins."""
        return _StreamReader([value])

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind = text_field(value, "type")
        if kind in _ITEMS and isinstance(value.get("item"), dict):
            self._read_item(record, kind, value["item"])
        elif kind == "turn.completed":
            self._end = RunEnd("success", denials=tuple(self._denials), usage=read_thread_usage(value.get("usage")))
            self._builder.add_state(record, kind)
        elif kind in {"turn.failed", "error"}:
            self._read_error(record, kind, value)
        elif kind in _STATES:
            self._read_start(record, kind)
        else:
            self._builder.reject(record, "a record of unknown type")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end)

    def _read_start(self, record: Record, kind: str) -> None:
        if kind == "thread.started" and self._done:
            self._turn += 1  # the next turn of a thread, whose items are numbered anew
        self._end, self._errors = None, []
        self._builder.add_state(record, kind)

    def _read_item(self, record: Record, kind: str, item: dict[str, Any]) -> None:
        name = f"{text_field(item, 'id') or record.number}@{self._name}.{self._turn}"
        read = _read_call(item)
        if kind == "item.updated" or f"{kind} {name}" in self._done or (kind == "item.started" and read is None):
            self._builder.add_state(record, kind)
            return
        self._done.add(f"{kind} {name}")
        if self._end is not None and self._end.status == "success":
            self._end = None  # the turn goes on after its end
        if read is None:
            self._read_text(record, item, name)
            return
        call, result = read
        is_known = name in self._builder.calls
        parts = [] if is_known else [Part("tool_call", {"call_id": name, **call})]
        if kind == "item.started":
            self._add(record, ANSWER, parts, name)
            return
        if item.get("status") == "declined":
            self._denials.append(name)
        if result is not None:
            parts.append(Part("tool_result", {"call_id": name, **result}))
        if parts:
            self._add(record, RESULTS if is_known else ANSWER, parts, name)
        else:
            self._builder.add_state(record, kind)  # cut off: completed without an exit code

    def _read_text(self, record: Record, item: dict[str, Any], name: str) -> None:
        text, kind = item.get("text"), text_field(item, "type")
        if kind == "error":
            self._add_error(record, text_field(item, "message") or "error")
        elif kind in {"agent_message", "reasoning"} and isinstance(text, str):
            part = Part("text" if kind == "agent_message" else "reasoning", {"text": text})
            self._add(record, ANSWER, [part], name)
        else:
            self._add(record, ANSWER, [Part("raw", {"json": item})], name)

    def _add(self, record: Record, kind: str, parts: list[Part], name: str) -> None:
        """Add a record to the open message of this kind, or begin one."""
        found = self._builder.continues(kind)
        if found is None:
            found = self._builder.begin(record, _AGENT if kind == ANSWER else TOOL, kind, parts)
        else:
            self._builder.add(record, parts)
        found.add_ids(name)

    def _read_error(self, record: Record, kind: str, value: Mapping[str, Any]) -> None:
        error = value if kind == "error" else object_field(value, "error")
        text = text_field(error, "message") or kind
        if kind == "turn.failed" or self._end is None:
            self._end = RunEnd("error", text, denials=tuple(self._denials))
        if text in self._errors:
            self._builder.add_state(record, kind)  # the failed turn repeats its error
        else:
            self._add_error(record, text)

    def _add_error(self, record: Record, text: str) -> None:
        self._errors.append(text)
        self._builder.begin(record, _HARNESS, ERROR, [Part("text", {"text": text})]).status = "error"


def _is_event(value: Mapping[str, Any]) -> bool:
    kind = text_field(value, "type")
    if kind == "thread.started":
        return text_field(value, "thread_id") is not None
    if kind in _ITEMS:
        return text_field(object_field(value, "item"), "type") is not None
    return kind in {"turn.failed", "turn.completed"} and ("usage" in value or "error" in value)


def _has_content(value: Mapping[str, Any]) -> bool:
    return text_field(value, "type") not in _STATES


def _read_call(item: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """Return the fields of a call and of its result, if it has one; None if an item is no call."""
    status = item.get("status")
    match item.get("type"):
        case "command_execution":
            call: dict[str, Any] = {
                "name": "exec_command",
                "input": {"cmd": _unwrap(text_field(item, "command") or "")},
            }
            code, output = item.get("exit_code"), item.get("aggregated_output", "")
            if status == "declined":
                return call, {"output": output or "command rejected", "is_error": True}
            return call, {"output": output, **with_exit_code(code)} if type(code) is int else None
        case "file_change":
            changes = item.get("changes")
            listed = [each for each in changes if isinstance(each, dict)] if isinstance(changes, list) else []
            by_path = {path: {"type": each.get("kind")} for each in listed if (path := text_field(each, "path"))}
            call = {"name": "apply_patch", "input": {"changes": by_path}}
            fields = {"output": status or "", "is_error": status != "completed", "structured": {"changes": by_path}}
            return call, fields
        case "mcp_tool_call":
            server, tool = text_field(item, "server") or "", text_field(item, "tool") or "tool"
            call = {"name": f"{server}__{tool}" if server else tool, "input": item.get("arguments")}
            error = item.get("error")
            output = item.get("result") if error is None else error
            result = {"output": output, "is_error": status == "failed" or error is not None}
        case "web_search":
            return {"name": "web_search", "input": {"query": text_field(item, "query") or ""}}, {"output": ""}
        case "todo_list":
            return {"name": "update_plan", "input": {"plan": item.get("items")}}, {"output": ""}
        case _:
            return None
    return call, None if status == "in_progress" else result


def _unwrap(command: str) -> str:
    """Return the script of a command that Codex runs in a shell; other commands unchanged."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == _SHELL_WORDS and words[1] in _SHELL_FLAGS else command
