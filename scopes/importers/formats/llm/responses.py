"""Read a conversation of llm until 0.31: responses, each with its prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.events import Event, Session
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
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.model.message import Author, Part

_SYSTEM = "system"
_SPEAKERS: dict[str, Author] = {_SYSTEM: SYSTEM, RESULTS: TOOL, PROMPT: HUMAN}
_WITH_RESULTS = frozenset({"tool_results", "tool_results_attachments"})
_FOR_PROMPT = frozenset({"prompt_fragments", "prompt_attachments", "system_fragments"})


class ResponseReader:
    """Turns the rows of a conversation into events. What comes before an answer has its time."""

    def __init__(self, first: Row | None) -> None:
        columns = {} if first is None else first.columns
        self._builder = RunBuilder(is_stream=False)
        self._held: dict[str, tuple[list[Record], list[Part]]] = {}  # what comes before an answer, by kind
        self._kind = PROMPT  # of the message that a fragment or an attachment belongs to
        is_named = first is not None and first.table == "conversations"
        self._title = text_field(columns, "name") if is_named else None
        name = (
            text_field(columns, "id")
            if is_named
            else text_field(columns, "conversation_id") or text_field(columns, "id")
        )
        self.session = Session(
            format=AGENT.name,
            native_id=name or "unknown",
            created=time_of_ulid(name or ""),
            title=self._title,
        )

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        if row is None:
            self._builder.reject(record, "not a row")
        elif row.table == "conversations":
            self._builder.add_state(record, "conversations")
        elif row.table == "responses":
            self._read_response(record, row.columns)
        elif row.table == "tool_calls" and self._builder.continues(ANSWER) is not None:
            self._builder.add(record, [read_call(row.columns, read_json(row.columns.get("arguments")))])
        elif row.table in _WITH_RESULTS:
            self._kind = RESULTS
            self._hold(record, read_result(row.columns) if row.table == "tool_results" else None)
        elif row.table in _FOR_PROMPT:
            self._kind = _SYSTEM if row.table.startswith(_SYSTEM) else PROMPT
            self._hold(record)
        elif row.table == "fragments":
            self._hold(record, _text(row.columns.get("content")), first=True)
        elif row.table == "attachments":
            self._hold(record, read_attachment(row.columns))
        else:
            self._builder.reject(record, f"a row of {row.table}")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        self._begin_held(None, None)
        yield from self._builder.finish(title=self._title)

    def _read_response(self, record: Record, columns: Mapping[str, Any]) -> None:
        if "response" in columns:
            self._read_answer(record, columns)
            return
        self._kind = _SYSTEM if _SYSTEM in columns else PROMPT
        self._hold(record, _text(columns.get("system") or columns.get("prompt")))

    def _read_answer(self, record: Record, columns: Mapping[str, Any]) -> None:
        name, time = text_field(columns, "id"), read_time(columns)
        self._begin_held(name, time)
        parts = []
        if (reasoning := text_field(columns, "reasoning")) is not None:
            parts.append(Part("reasoning", {"text": reasoning}))
        text = _text(columns.get("response"))
        found = self._builder.begin(record, AGENT, ANSWER, parts if text is None else [*parts, text], time=time)
        found.add_ids(name)
        found.model = text_field(columns, "resolved_model") or text_field(columns, "model")
        found.usage = read_usage(columns)

    def _hold(self, record: Record, part: Part | None = None, *, first: bool = False) -> None:
        records, parts = self._held.setdefault(self._kind, ([], []))
        records.append(record)
        if part is not None:
            parts.insert(0 if first else len(parts), part)

    def _begin_held(self, name: str | None, time: str | None) -> None:
        """Begin the messages before an answer; an empty prompt belongs to the results that were given to the model."""
        for kind in (_SYSTEM, RESULTS, PROMPT):
            records, parts = self._held.pop(kind, ([], []))
            if records and not parts:
                for record in records:
                    if self._builder.continues(RESULTS) is not None:
                        self._builder.add(record)
                    else:
                        self._builder.add_state(record, kind)
            elif records:
                found = self._builder.begin(records[0], _SPEAKERS[kind], kind, parts, time=time)
                found.add_ids(name)
                for record in records[1:]:
                    self._builder.add(record)


def _text(value: object) -> Part | None:
    """Return a text as a part; None if it is empty. Text that is not UTF-8 is kept raw."""
    if isinstance(value, bytes):
        return Part("raw", lossless_field("json", {"bytes": value.hex()}))
    return Part("text", {"text": value}) if isinstance(value, str) and value else None
