"""Read what `gemini -p` prints as `stream-json`, or as `json`: one object with the answer, or an error, and counts.

The stream does not tell the exit codes of commands: the session file has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import number_field, object_field, text_field, time_field
from scopes.importers.formats.gemini.parts import read_call
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.run_builder import ANSWER, ERROR, HUMAN, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.importers.formats.stream_documents import digest_of_record, name_stream
from scopes.model.message import Author, Part

NAME = "gemini"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_LIMITS = ("TurnLimit", "max session turns", "Maximum session turns")


class StreamReader:
    """Turns the records of one run into events."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        init = next((value for value in head if value.get("type") == "init"), {})
        named = (text_field(value, "session_id") for value in [init, *head])
        self._id = next((name for name in named if name), None) or digest_of_record(head[0] if head else None)
        self._builder = RunBuilder(is_stream=True)
        self._builder.model = text_field(init, "model")
        self._seen: set[str] = set()
        self._end: RunEnd | None = None
        self.session = Session(
            format=NAME,
            native_id=self._id,
            sub_file=name_stream(value for value in head if value.get("type") != "init"),
            created=next(filter(None, map(time_field, head)), None),
            details={"line": STREAM},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the run of another session."""
        return value.get("type", "init") == "init" and text_field(value, "session_id") not in {None, self._id}

    def next_run(self, value: dict[str, Any]) -> StreamReader:
        """Return the reader of the session that a record begins."""
        return StreamReader([value])

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind = text_field(value, "type")
        time = time_field(value)
        if record.value is not None and is_object(value):
            self._read_object(record, value)
        elif kind == "message" and isinstance(value.get("content"), str):
            self._end = None  # the run goes on after its end
            self._read_text(record, value, time)
        elif kind == "tool_use":
            self._read_call(record, value, time)
        elif kind == "tool_result":
            self._read_result(record, value, time)
        elif kind == "error" and text_field(value, "message") is not None:
            self._builder.add_state(record, "error")
        elif kind == "result":
            self._read_end(record, value, time)
        elif kind == "init":
            self._end = None
            self._builder.add_state(record, "init")
        else:
            self._builder.reject(record, "a record of unknown type")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end)

    def _read_text(self, record: Record, value: Mapping[str, Any], time: str | None) -> None:
        """Read a text; pieces of one (`delta`) are joined."""
        text = value["content"]
        if value.get("role") == "user":
            self._builder.begin(record, HUMAN, PROMPT, [Part("text", {"text": text})], time=time)
            return
        found = self._builder.continues(ANSWER)
        last = found.parts[-1] if found is not None and found.parts else None
        if found is None:
            self._builder.begin(record, _AGENT, ANSWER, [Part("text", {"text": text})], time=time)
        elif value.get("delta") is True and last is not None and last.type == "text":
            self._builder.add(record)
            found.parts[-1] = Part("text", {"text": last.text + text})
        else:
            self._builder.add(record, [Part("text", {"text": text})])

    def _read_call(self, record: Record, value: Mapping[str, Any], time: str | None) -> None:
        name = text_field(value, "tool_id") or f"call-{record.span.offset}"
        if f"call {name}" in self._seen:
            self._builder.add_state(record, "repeated/tool_use")
            return
        self._seen.add(f"call {name}")
        self._end = None
        call = read_call({"id": name, "name": value.get("tool_name"), "args": value.get("parameters")})
        if self._builder.continues(ANSWER) is None:
            self._builder.begin(record, _AGENT, ANSWER, [call], time=time)
        else:
            self._builder.add(record, [call])

    def _read_result(self, record: Record, value: Mapping[str, Any], time: str | None) -> None:
        name = text_field(value, "tool_id")
        if name is not None and f"result {name}" in self._seen:
            self._builder.add_state(record, "repeated/tool_result")
            return
        self._seen.add(f"result {name}")
        error = text_field(object_field(value, "error"), "message")
        output = error if error is not None else value.get("output", "")
        fields = {**({} if name is None else {"call_id": name}), **lossless_field("output", output)}
        part = Part("tool_result", {**fields, "is_error": value.get("status") != "success"})
        if self._builder.continues(RESULTS) is None:
            self._builder.begin(record, TOOL, RESULTS, [part], time=time)
        else:
            self._builder.add(record, [part])

    def _read_end(self, record: Record, value: Mapping[str, Any], time: str | None) -> None:
        self._end = _read_end(value)
        if self._end.status != "success" and self._end.detail:
            text = Part("text", {"text": self._end.detail})
            self._builder.begin(record, _HARNESS, ERROR, [text], time=time).status = "error"
        else:
            self._builder.add_state(record, "result")

    def _read_object(self, record: Record, value: Mapping[str, Any]) -> None:
        self._end = _read_end({"status": "error" if "error" in value else "success", **value})
        text = text_field(value, "response") or self._end.detail
        if not text:
            self._builder.add_state(record, "result")
        elif self._end.status == "success":
            found = self._builder.begin(record, _AGENT, ANSWER, [Part("text", {"text": text})])
            found.model = next(iter(object_field(object_field(value, "stats"), "models")), None)
        else:
            self._builder.begin(record, _HARNESS, ERROR, [Part("text", {"text": text})]).status = "error"


def is_event(value: Mapping[str, Any]) -> bool:
    """Return True if a record is one of such a stream."""
    match value:
        case {"type": "init", "session_id": str(), "timestamp": str(), "model": _}:
            return True
        case {"type": "message", "role": str(), "content": str(), "timestamp": str()}:
            return True
        case {"type": "tool_use" | "tool_result", "tool_id": str(), "timestamp": str()}:
            return True
        case {"type": "result", "status": str(), "timestamp": str()}:
            return True
    return is_object(value)


def is_object(value: Mapping[str, Any]) -> bool:
    """Return True if a record is the only one of the output as `json`."""
    named = "type" not in value and text_field(value, "session_id") is not None
    return named and (("response" in value and "stats" in value) or isinstance(value.get("error"), dict))


def _read_end(value: Mapping[str, Any]) -> RunEnd:
    error = object_field(value, "error")
    detail = text_field(error, "message") or ""
    stats = object_field(value, "stats")
    word = f"{error.get('type')} {detail}"
    status = value.get("status")
    milliseconds = number_field(stats, "duration_ms")
    return RunEnd(
        status="success" if status == "success" else "limit" if any(each in word for each in _LIMITS) else "error",
        detail="" if status == "success" else detail or str(status),
        seconds=None if milliseconds is None else milliseconds / 1000,
        usage=_read_usage(stats),
    )


def _read_usage(stats: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the token counts of a run, from the stream or from the sums by model of the output as `json`."""
    models = [object_field(each, "tokens") for each in object_field(stats, "models").values() if isinstance(each, dict)]
    given = _count(stats, "input_tokens") or sum(_count(each, "prompt") for each in models)
    cached = _count(stats, "cached") or sum(_count(each, "cached") for each in models)
    output = _count(stats, "output_tokens") or sum(
        _count(each, "candidates") + _count(each, "thoughts") for each in models
    )
    known = {"input_uncached": max(0, given - cached), "cache_read": cached, "output": output}
    return known if given or output else None


def _count(counts: Mapping[str, Any], name: str) -> int:
    count = counts.get(name)
    return count if type(count) is int and count >= 0 else 0
