"""What the hooks of Cursor were told about a conversation: a line for each event, written by the process of the hook.

    {"scopes_hook": "cursor", "time": "2026-01-01T10:00:00Z", "input": {"hook_event_name": "stop", ...}}

The inputs are those of cursor.com/docs/agent/hooks. They are documented, and were not seen from a real Cursor. All have
conversation_id, generation_id and workspace_roots. It is an event stream of the session in Cursor's own database, which
has more content. `scopes.live.cursor_journal` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scopes.errors import CannotImport
from scopes.importers.formats.base import Source
from scopes.importers.formats.cursor_editor import NAME
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import object_field, read_arguments, text_field
from scopes.importers.formats.records import Record, first_records, name_stream
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RunBuilder, read_beginning, walk_session
from scopes.model.message import Author, Part

EVENTS: Final = (
    "beforeSubmitPrompt", "afterAgentThought", "afterAgentResponse", "afterFileEdit", "afterShellExecution",
    "afterMCPExecution", "stop",
)  # fmt: skip
_MARK = "scopes_hook"
_AGENT = Author(NAME, "agent")


def is_journal(head: bytes) -> bool:
    """Return True if a source begins with inputs of Cursor's hooks."""
    return _MARK.encode() in head and any(map(_is_event, first_records(head)))


def walk_journal(source: Source) -> Iterator[Event]:
    """Yield the Session, its messages and states, and the Ending.

    Raises:
        CannotImport: no event names its conversation.
    """
    events = [*filter(_is_event, first_records(read_beginning(source)))]
    if not events:
        raise CannotImport(f"{source.path}: no event names its conversation")
    yield from walk_session(source, _Reader(events))


class _Reader:
    """Turns the events of a conversation into messages."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._builder = RunBuilder(is_stream=True)
        self._end: RunEnd | None = None
        self.session = Session(
            format=NAME,
            native_id=events[0]["input"]["conversation_id"],
            sub_file=name_stream(events),
            created=text_field(events[0], "time"),
            cwd=_directory_of(events[0]["input"]),
            details={"line": STREAM},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        given, time = object_field(value, "input"), text_field(value, "time")
        name = text_field(given, "hook_event_name") or ""
        if not _is_event(value) or given["conversation_id"] != self.session.native_id:
            self._builder.reject(record, "not an event of this conversation")
            yield from self._builder.take_ready()
            return
        if name in EVENTS:
            self._builder.cwd = _directory_of(given) or self._builder.cwd
            self._builder.model = text_field(given, "model") or self._builder.model
        match name:
            case "beforeSubmitPrompt":
                self._end = None
                self._builder.begin(record, HUMAN, PROMPT, _read_prompt(given), time=time)
            case "afterAgentThought" | "afterAgentResponse":
                kind = "reasoning" if name == "afterAgentThought" else "text"
                self._add_to_answer(record, given, [Part(kind, {"text": _text(given, "text")})], time)
            case "afterFileEdit" | "afterShellExecution" | "afterMCPExecution":
                self._add_to_answer(record, given, _read_call(given, name, f"hook-{record.span.offset}"), time)
            case _:
                if name == "stop":
                    status = text_field(given, "status") or ""
                    self._end = RunEnd("success") if status == "completed" else RunEnd("error", status)
                self._builder.add_state(record, name)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end)

    def _add_to_answer(self, record: Record, given: dict[str, Any], parts: list[Part], time: str | None) -> None:
        generation = text_field(given, "generation_id")
        if self._builder.continues(ANSWER, answer=generation) is not None:
            self._builder.add(record, parts)
            return
        found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
        found.answer = generation
        found.add_ids(generation)


def _is_event(value: Mapping[str, Any]) -> bool:
    return value.get(_MARK) == NAME and text_field(object_field(value, "input"), "conversation_id") is not None


def _read_prompt(given: Mapping[str, Any]) -> list[Part]:
    attached = given.get("attachments")
    files = [each for each in attached if isinstance(each, dict)] if isinstance(attached, list) else []
    paths = [text_field(each, "filePath") or text_field(each, "file_path") for each in files]
    mentions = [Part("file_ref", {"path": path, "op": "mention"}) for path in paths if path]
    return [Part("text", {"text": _text(given, "prompt")}), *mentions]


def _read_call(given: Mapping[str, Any], event: str, call_id: str) -> list[Part]:
    """Return a call and its result, which one event has. The hooks do not say how Cursor names its own tools."""
    name, output = "edit", ""
    if event == "afterFileEdit":
        fields = {"input": {"file_path": given.get("file_path"), "edits": given.get("edits")}}
    elif event == "afterShellExecution":
        name, output = "shell", given.get("output", "")
        fields = {"input": {"command": given.get("command")}}
    else:
        name, output = text_field(given, "tool_name") or "mcp", given.get("result_json", "")
        fields = read_arguments(given.get("tool_input"))
    return [
        Part("tool_call", {"call_id": call_id, "name": name, **fields}),
        Part("tool_result", {"call_id": call_id, "output": output}),
    ]


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _directory_of(given: Mapping[str, Any]) -> str | None:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first if isinstance(first, str) and first.startswith("/") else None
