"""Read what `gemini -p` prints as `stream-json`, or as `json`: one object with the answer, or an error, and counts.

The stream does not tell the exit codes of commands: the session file has them. The tokens of a run are those of its
last answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import number_field, object_field, text_field, time_field
from scopes.importers.formats.gemini_parts import read_call, read_counts
from scopes.importers.formats.records import Record, digest_of_record, name_stream
from scopes.importers.formats.run_builder import ANSWER, ERROR, HUMAN, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.model.message import Author, Part

NAME = "gemini"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_LIMITS = ("TurnLimit", "max session turns", "Maximum session turns")


def is_event(value: Mapping[str, Any]) -> bool:
    """Return True if a record is one of such a stream, or the only one of the output as `json`.

    Any program may print a message with a role and a time.
    """
    match value:
        case {"type": "init", "session_id": str(), "timestamp": str(), "model": _}:
            return True
        case {"type": "tool_use" | "tool_result", "tool_id": str(), "timestamp": str()}:
            return True
        case {"type": "result", "status": str(), "timestamp": str(), "stats": dict()}:
            return True
    return _is_object(value)


def _is_object(value: Mapping[str, Any]) -> bool:
    named = "type" not in value and text_field(value, "session_id") is not None
    return named and (("response" in value and "stats" in value) or isinstance(value.get("error"), dict))


class StreamReader:
    """Turns the records of one run into events."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        init = next((value for value in head if value.get("type") == "init"), {})
        named = (text_field(value, "session_id") for value in [init, *head])
        self._builder = RunBuilder(is_stream=True)
        self._builder.model = text_field(init, "model")
        self._seen: set[str] = set()
        self._end: RunEnd | None = None
        self.session = Session(
            format=NAME,
            native_id=next(filter(None, named), None) or digest_of_record(head[0] if head else None),
            sub_file=name_stream(value for value in head if value.get("type") != "init"),
            created=next(filter(None, map(time_field, head)), None),
            details={"line": STREAM},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the run of another session."""
        session = text_field(value, "session_id")
        return value.get("type", "init") == "init" and session not in {None, self.session.native_id}

    def next_run(self, value: dict[str, Any]) -> StreamReader:
        """Return the reader of the session that a record begins."""
        return StreamReader([value])

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind, time = text_field(value, "type"), time_field(value)
        name = text_field(value, "tool_id")
        if _is_object(value):
            self._read_end(record, {"status": "error" if "error" in value else "success", **value}, None)
        elif kind == "message" and isinstance(value.get("content"), str):
            self._end = None  # the run goes on after its end
            self._read_text(record, value, time)
        elif kind in {"tool_use", "tool_result"}:
            if name is not None and f"{kind} {name}" in self._seen:
                self._builder.add_state(record, f"repeated/{kind}")
            else:
                self._seen.add(f"{kind} {name}")
                self._read_tool(record, value, name, time)
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
        part = Part("text", {"text": value["content"]})
        if value.get("role") == "user":
            self._builder.begin(record, HUMAN, PROMPT, [part], time=time)
            return
        found = self._builder.continues(ANSWER)
        last = found.parts[-1] if found is not None and found.parts else None
        if found is None:
            self._builder.begin(record, _AGENT, ANSWER, [part], time=time)
        elif value.get("delta") is True and last is not None and last.type == "text":
            self._builder.add(record)
            found.parts[-1] = Part("text", {"text": last.text + part.text})
        else:
            self._builder.add(record, [part])

    def _read_tool(self, record: Record, value: Mapping[str, Any], name: str | None, time: str | None) -> None:
        """Read a call, or a result."""
        if value["type"] == "tool_use":
            self._end = None
            name = name or f"call-{record.span.offset}"
            author, kind = _AGENT, ANSWER
            part = read_call({"id": name, "name": value.get("tool_name"), "args": value.get("parameters")})
        else:
            author, kind = TOOL, RESULTS
            error = text_field(object_field(value, "error"), "message")
            output = value.get("output", "") if error is None else error
            known = {} if name is None else {"call_id": name}
            failed = value.get("status") != "success"
            part = Part("tool_result", {**known, "output": output, "is_error": failed})
        if self._builder.continues(kind) is None:
            self._builder.begin(record, author, kind, [part], time=time)
        else:
            self._builder.add(record, [part])

    def _read_end(self, record: Record, value: Mapping[str, Any], time: str | None) -> None:
        """Read the end of a run; its text, or its error, is a message unless a message has it."""
        stats = object_field(value, "stats")
        self._end = _read_run_end(value, stats)
        text = text_field(value, "response") or self._end.detail
        parts = [Part("text", {"text": text})] if text else []
        if parts and self._end.status == "success":
            self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
        answer, models = self._builder.continues(ANSWER), _tokens_by_model(stats)
        if answer is not None and models:
            first = next(iter(models))
            answer.model = answer.model or first or None
            own = models.pop(answer.model if answer.model in models else first)
            others = [{"model": model, **counts} for model, counts in models.items()]
            raw = stats.get("models", dict(stats))
            answer.usage = {**own, **({"others": others} if others else {}), "raw": raw}
        if parts and self._end.status != "success":
            self._builder.begin(record, _HARNESS, ERROR, parts, time=time).status = "error"
        elif not parts:
            self._builder.add_state(record, "result")


def _read_run_end(value: Mapping[str, Any], stats: Mapping[str, Any]) -> RunEnd:
    error = object_field(value, "error")
    detail, status = text_field(error, "message") or "", value.get("status")
    is_limit = any(word in f"{error.get('type')} {detail}" for word in _LIMITS)
    milliseconds = number_field(stats, "duration_ms")
    models = list(_tokens_by_model(stats).values())
    return RunEnd(
        status="success" if status == "success" else "limit" if is_limit else "error",
        detail="" if status == "success" else detail or str(status),
        seconds=None if milliseconds is None else milliseconds / 1000,
        usage={name: sum(counts[name] for counts in models) for name in models[0]} if models else None,
    )


def _tokens_by_model(stats: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the token counts of a run by model, that with the most output first; those by role repeat them.

    Without counts by model, those of the run have the empty name.
    """
    listed = {model: each for model, each in object_field(stats, "models").items() if isinstance(each, dict)}
    read = {model: read_counts(object_field(each, "tokens") or each) for model, each in listed.items()}
    found = {model: counts for model, counts in read.items() if counts is not None}
    total = None if found else read_counts(stats)
    if total is not None:
        return {"": total}
    return dict(sorted(found.items(), key=lambda each: -each[1]["output"]))
