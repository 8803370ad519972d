"""Read a thread of llm since 0.32: messages that name their parents by hash, and the turns that added them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scopes.importers.formats.events import Ending, Event, Session
from scopes.importers.formats.fields import text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.llm.cells import (
    AGENT,
    SYSTEM,
    read_attachment,
    read_call,
    read_json,
    read_result,
    read_time,
    read_usage,
    time_of_ulid,
)
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.row_lines import Row
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RESULTS, TOOL, ParentLinks, RunBuilder
from scopes.model.message import Author, Part

_ROLES: dict[str, tuple[Author, str]] = {
    "system": (SYSTEM, "system"),
    "user": (HUMAN, PROMPT),
    "tool": (TOOL, RESULTS),
    "assistant": (AGENT, ANSWER),
}
_OF_PART = frozenset({"part_fragments", "part_attachments"})
_STATES = frozenset({"threads", "turn_fragments", "turn_tools", "fragments"})


@dataclass(slots=True)
class _Message:
    """A message whose turn follows."""

    columns: Mapping[str, Any]
    records: list[Record]
    parts: list[Part] = field(default_factory=list)


class ThreadReader:
    """Turns the rows of a thread into events."""

    def __init__(self, first: Row | None) -> None:
        columns = {} if first is None else first.columns
        self._builder = RunBuilder(is_stream=False)
        self._links = ParentLinks()
        self._held: list[_Message] = []
        self._tip = text_field(columns, "tip_message_hash")
        self._title = text_field(columns, "name")
        name = text_field(columns, "id") or "unknown"
        self.session = Session(
            format=AGENT.name,
            native_id=name,
            created=time_of_ulid(name) or read_time(columns),
            title=self._title,
            base=text_field(columns, "forked_from"),
        )

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        if row is None:
            self._builder.reject(record, "not a row")
        elif row.table == "messages" and row.columns.get("role") in _ROLES:
            self._held.append(_Message(row.columns, [record]))
        elif row.table == "turns":
            self._read_turn(record, row.columns)
        elif self._held and row.table in {"parts", *_OF_PART, "fragments", "attachments"}:
            self._held[-1].records.append(record)
            self._held[-1].parts += _read_part(row)
        elif row.table in _STATES:
            self._builder.add_state(record, row.table)
        else:
            self._builder.reject(record, f"a row of {row.table} that belongs to no message")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last messages and the Ending; the thread is at its tip."""
        self._begin_held(None)
        tip = self._links.find(self._tip)
        for event in self._builder.finish(title=self._title):
            yield replace(event, active=tip) if isinstance(event, Ending) and tip is not None else event

    def _read_turn(self, record: Record, columns: Mapping[str, Any]) -> None:
        """Begin the messages of a turn; its counts and its model are those of the last one."""
        is_new = bool(self._held) and self._held[-1].columns.get("hash") == columns.get("tip_message_hash")
        self._begin_held(read_time(columns))
        found = self._builder.continues(ANSWER)
        if not is_new or found is None:
            self._builder.add_state(record, "turns")
            return
        self._builder.add(record)
        found.model = text_field(columns, "resolved_model") or text_field(columns, "model")
        found.usage = read_usage(columns)
        found.add_ids(text_field(columns, "id"))

    def _begin_held(self, time: str | None) -> None:
        for message in self._held:
            author, kind = _ROLES[message.columns["role"]]
            found = self._builder.begin(message.records[0], author, kind, message.parts, time=time)
            found.parent = self._links.find(text_field(message.columns, "parent_hash"))
            for record in message.records[1:]:
                self._builder.add(record)
            name = text_field(message.columns, "hash")
            found.add_ids(name)
            self._links.add(name, found.key)
        self._held = []


def _read_part(row: Row) -> Iterator[Part]:
    columns = row.columns
    payload = read_json(columns.get("payload"))
    fields = payload if isinstance(payload, dict) else {}
    text = text_field(columns, "text")
    match row.table, columns.get("type"):
        case "attachments", _:
            yield read_attachment(columns)
        case "fragments", _:
            yield Part("text", {"text": text_field(columns, "content") or ""})
        case "parts", "text" | "reasoning" as kind if text is not None:
            yield Part(str(kind), {"text": text})
        case "parts", "text" | "reasoning" | "attachment" if columns.get("payload") is None:
            return  # what it has is in a fragment or an attachment
        case "parts", "attachment":
            return
        case "parts", "tool_call" if fields:
            yield read_call(fields, fields.get("arguments"))
        case "parts", "tool_result" if fields:
            yield read_result(fields)
        case "parts", kind:
            known = {name: value for name, value in columns.items() if isinstance(value, str | int)}
            yield Part("raw", lossless_field("json", {**known, "type": kind if isinstance(kind, str) else None}))
