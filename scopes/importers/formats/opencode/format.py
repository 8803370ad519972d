"""The OpenCode format: what `opencode run --format json` prints, what `opencode export` writes, and what it keeps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from scopes.hosts.agents import Agent
from scopes.importers.formats.base import Source, StandardFolders, find_below
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.events import STREAM, ByteRange, Event, RunEnd, Session, SessionRecord, Unparsed
from scopes.importers.formats.fields import number_field, object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.opencode.export import find_messages, is_export, read_info
from scopes.importers.formats.opencode.messages import AGENT, HARNESS, NAME, add_message
from scopes.importers.formats.opencode.parts import error_text, read_part, read_usage
from scopes.importers.formats.opencode.session_rows import is_session_row, walk_session_rows
from scopes.importers.formats.run_builder import ANSWER, ERROR, RunBuilder, time_of_milliseconds
from scopes.importers.formats.session_walk import read_beginning, walk_runs
from scopes.importers.formats.stream_documents import first_records, name_stream
from scopes.model.message import Part

_TYPES = frozenset({"text", "reasoning", "tool_use", "step_start", "step_finish", "error"})


_DATA = Agent(NAME, "OpenCode", None, ".local/share/opencode", "XDG_DATA_HOME", "opencode")


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a session: it is one of many in the database, or else in the folder."""
    if os.path.isfile(top):
        return f"{top}{SEPARATOR}{session}"
    found = find_below(os.path.join(top, "session"), "", lambda name: name == f"{session}.json")
    return None if found is None else f"{top}{SEPARATOR}{session}"


class OpenCode:
    """OpenCode 1.x: its database or folder, what it prints, and what it exports."""

    name = NAME
    file_suffixes = (".json", ".jsonl", ".db")
    standard_folders = StandardFolders(_DATA, ("opencode.db", "storage"), _find_session)
    sub_agent_fields: tuple[str, ...] = ("sessionId",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if is_session_row(head):
            return True
        if b'"sessionID"' not in head and not is_export(head):
            return False
        return is_export(head) or any(map(_is_event, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        head = read_beginning(source)
        if is_session_row(head):
            yield from walk_session_rows(source)
            return
        if is_export(head):
            yield from _walk_export(source)
            return
        yield from walk_runs(source, _StreamReader(first_records(head)))


class _StreamReader:
    """Turns the records of one run into events; it has neither the prompt nor an end record."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        self._events = [value for value in head if _is_event(value)]
        self._id = text_field(self._events[0], "sessionID") if self._events else None
        self._builder = RunBuilder(is_stream=True)
        self._seen: set[str] = set()
        self._reason: str | None = None
        self._error: str | None = None
        self._cost: float | None = None
        created = time_of_milliseconds(self._events[0].get("timestamp")) if self._events else None
        self.session = Session(
            format=NAME,
            native_id=self._id or name_stream(head),
            sub_file=name_stream(self._events),
            created=created,
            details={"line": STREAM},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the run of another session."""
        return _is_event(value) and value["sessionID"] != self._id

    def next_run(self, value: dict[str, Any]) -> _StreamReader:
        """Return the reader of the session that a record begins."""
        return _StreamReader([value])

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        if not _is_event(value):
            self._builder.reject(record)
        elif value["type"] == "error":
            self._error = error_text(value.get("error"))
            time = time_of_milliseconds(value.get("timestamp"))
            text = Part("text", {"text": self._error})
            self._builder.begin(record, HARNESS, ERROR, [text], time=time).status = "error"
        else:
            self._read_part(record, value, value["part"])
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending; a stream that stops in the middle of a step has no end of its run."""
        end = None
        if self._error is not None:
            end = RunEnd("error", self._error, self._cost)
        elif self._reason == "stop":
            end = RunEnd("success", "", self._cost)
        yield from self._builder.finish(run_end=end)

    def _read_part(self, record: Record, value: Mapping[str, Any], part: dict[str, Any]) -> None:
        name, kind = text_field(part, "messageID"), value["type"]
        identity = text_field(part, "id") or str(record.number)
        parts = list(read_part(part))
        time = time_of_milliseconds(value.get("timestamp"))
        repeated = identity in self._seen
        self._seen.add(identity)
        if kind == "step_start":
            self._reason = None
        if kind == "step_finish" and not repeated:
            self._reason = text_field(part, "reason")
            self._add_cost(number_field(part, "cost"))
        found = self._builder.continues(ANSWER, None, name)
        if repeated or (not parts and found is None):
            self._builder.add_state(record, f"repeated/{kind}" if repeated else kind)
            return
        if found is None:
            found = self._builder.begin(record, AGENT, ANSWER, parts, time=time)
            found.answer = name
            found.add_ids(name)
        else:
            self._builder.add(record, parts)
        if kind == "step_finish":
            found.usage = read_usage(object_field(part, "tokens"))
            found.stop_reason = self._reason

    def _add_cost(self, cost: float | None) -> None:
        if cost is not None:
            self._cost = (self._cost or 0.0) + cost


def _walk_export(source: Source) -> Iterator[Event]:
    """Yield the events of an exported session; bytes between its messages are a state."""
    with source.open() as stream:
        data = stream.read(source.size)
    info, elements = read_info(data), list(find_messages(data))
    builder = RunBuilder(is_stream=False)
    builder.cwd = text_field(info, "directory")
    values = [element.value for element in elements if isinstance(element.value, dict)]
    named = chain([info.get("id")], (object_field(value, "info").get("sessionID") for value in values))
    yield Session(
        format=NAME,
        native_id=next((name for name in named if isinstance(name, str) and name), "unknown"),
        created=time_of_milliseconds(object_field(info, "time").get("created")),
        cwd=builder.cwd,
        title=text_field(info, "title"),
        details={"version": version} if (version := text_field(info, "version")) else {},
    )
    at = 0
    for number, element in enumerate(elements):
        if element.start > at:
            yield SessionRecord(key="session", spans=(ByteRange(at, element.start - at),))
        record = Record(number + 1, number, ByteRange(element.start, element.end - element.start), element.value)
        at = element.end
        if isinstance(element.value, dict):
            add_message(builder, record, element.value)
        else:
            builder.reject(record, "not a message")
        yield from builder.take_ready()
    if at < len(data):
        rest = (ByteRange(at, len(data) - at),)
        complete = data[at:].strip().endswith(b"}")
        yield SessionRecord(key="session", spans=rest) if complete else Unparsed(spans=rest, reason="incomplete export")
    yield from builder.finish(title=text_field(info, "title"))


def _is_event(value: Mapping[str, Any]) -> bool:
    if text_field(value, "type") not in _TYPES or text_field(value, "sessionID") is None:
        return False
    return "error" in value if value["type"] == "error" else isinstance(value.get("part"), dict)
