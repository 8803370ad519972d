"""Read the rows or files of an OpenCode session as a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Ending, Event, Session
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import Record, walk_records
from scopes.importers.formats.lossless_json import decode
from scopes.importers.formats.opencode.messages import NAME, add_message
from scopes.importers.formats.row_lines import Row, begins_with_row, read_row
from scopes.importers.formats.run_builder import RunBuilder, time_of_milliseconds

_ROLES = frozenset({"user", "assistant"})
_STATES = frozenset({
    "session", "todo", "session_diff", "session_context_epoch", "session_input", "session_message", "event_sequence",
    "event",
})  # fmt: skip


def is_session_row(head: bytes) -> bool:
    """Return True if a source begins with a session of OpenCode's database or folder."""
    if head.startswith(b'{"file":"session/'):
        return True
    return begins_with_row(head, ["session"]) and all(name in head for name in (b'"directory":', b'"id":', b'"slug":'))


def walk_session_rows(source: Source) -> Iterator[Event]:
    """Yield the events of a session."""
    reader: _Reader | None = None
    with source.open() as stream:
        for record in walk_records(stream, source.size):
            found = _read(record)
            if reader is None:
                reader = _Reader(found)
                yield reader.session
            yield from reader.read(record, found)
    yield from (reader or _Reader(None)).finish()


@dataclass(slots=True)
class _Found:
    """What a line has: the table, or the first folder of the file, and the document; none if it cannot be read."""

    table: str
    document: dict[str, Any] | None


@dataclass(slots=True)
class _Message:
    """A message whose parts follow."""

    record: Record
    info: dict[str, Any]
    parts: list[tuple[Record, dict[str, Any]]] = field(default_factory=list)


class _Reader:
    """Turns the lines of a session into events."""

    def __init__(self, first: _Found | None) -> None:
        info = first.document or {} if first is not None else {}
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = text_field(info, "directory")
        self._message: _Message | None = None
        self._reverted = object_field(info, "revert")
        self._last: str | None = None
        self._active: str | None = None  # the last message before those that were taken back
        self._title = text_field(info, "title")
        parent, version = text_field(info, "parentID"), text_field(info, "version")
        details = {"version": version, "agent": text_field(info, "agent") if parent is not None else None}
        self.session = Session(
            format=NAME,
            native_id=text_field(info, "id") or "unknown",
            created=time_of_milliseconds(object_field(info, "time").get("created")),
            cwd=self._builder.cwd,
            title=self._title,
            base=parent,
            spawned_by=None if parent is None else {"session": parent},
            details={name: value for name, value in details.items() if value is not None},
        )

    def read(self, record: Record, found: _Found | None) -> Iterator[Event]:
        """Read the next line; yield the events that are complete."""
        if found is not None and found.table == "part" and self._message is not None and found.document is not None:
            self._message.parts.append((record, found.document))
            return
        self._finish_message()
        if found is not None and found.table in _STATES and (found.document is not None or found.table != "session"):
            self._builder.add_state(record._replace(value=None), found.table)
        elif found is None or found.document is None:
            self._builder.reject(record, "not a row that can be read")
        elif found.table == "message" and found.document.get("role") in _ROLES:
            self._message = _Message(record, found.document)
        else:
            self._builder.reject(record, f"a row of {found.table} that belongs to no message")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        self._finish_message()
        for event in self._builder.finish(title=self._title):
            is_taken_back = isinstance(event, Ending) and self._active is not None
            yield replace(event, active=self._active) if is_taken_back and isinstance(event, Ending) else event

    def _finish_message(self) -> None:
        message, self._message = self._message, None
        if message is None:
            return
        name = text_field(message.info, "id")
        if name is not None and name == self._reverted.get("messageID") and not self._reverted.get("partID"):
            self._active = self._last
        value = {"info": message.info, "parts": [part for _, part in message.parts]}
        add_message(self._builder, message.record, value)
        for record, _ in message.parts:
            self._builder.add(record)
        self._last = str(message.record.span.offset)


def _read(record: Record) -> _Found | None:
    """Return what a line has; None if it is no row."""
    row = read_row(record.value)
    if row is None:
        return None
    if "content" in row.columns and "/" in row.table:
        return _Found(row.table.partition("/")[0], _decode(row.columns["content"]))
    return _Found(row.table, _document_of(row))


def _document_of(row: Row) -> dict[str, Any] | None:
    """Return a row of the database as the file of the same record has it."""
    columns = row.columns
    if row.table == "session":
        times = {"created": columns.get("time_created"), "updated": columns.get("time_updated")}
        return {
            **columns,
            "parentID": columns.get("parent_id"),
            "revert": _decode(columns.get("revert")),
            "time": times,
        }
    if row.table not in {"message", "part"}:
        return columns
    data = _decode(columns.get("data"))
    return None if data is None else {**data, "id": columns.get("id"), "sessionID": columns.get("session_id")}


def _decode(text: object) -> dict[str, Any] | None:
    """Decode a JSON object in a text; None if it is none."""
    try:
        value = decode(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
