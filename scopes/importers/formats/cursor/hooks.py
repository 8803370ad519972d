"""What the hooks of Cursor were told about a conversation: a line for each event, written by the process of the hook.

    {"scopes_hook": "cursor", "time": "2026-01-01T10:00:00Z", "input": {"hook_event_name": "stop", ...}}

The inputs are those of cursor.com/docs/agent/hooks. They are documented, and were not seen from a real Cursor. All have
conversation_id, generation_id and workspace_roots. It is an event stream of the session in Cursor's own database, which
has more content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from scopes.errors import CannotImport
from scopes.importers.formats.base import Source
from scopes.importers.formats.cursor.names import MARK, NAME, STOP
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import object_field, read_arguments, text_field
from scopes.importers.formats.records import Record, first_records, name_stream, walk_stream
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RunBuilder, read_beginning
from scopes.model.message import Author, Part

EVENTS: Final = (
    "beforeSubmitPrompt", "afterAgentThought", "afterAgentResponse", "afterFileEdit", "afterShellExecution",
    "afterMCPExecution", STOP,
)  # fmt: skip
_AGENT = Author(NAME, "agent")


def is_journal(head: bytes) -> bool:
    """Return True if a source begins with inputs of Cursor's hooks."""
    return MARK.encode() in head and any(map(_is_event, first_records(head)))


def walk_journal(source: Source) -> Iterator[Event]:
    """Yield the Session, its messages and states, and the Ending.

    Raises:
        CannotImport: no event names its conversation.
    """
    events = [*filter(_is_event, first_records(read_beginning(source)))]
    conversation = text_field(events[0]["input"], "conversation_id") if events else None
    if conversation is None:
        raise CannotImport(f"{source.path}: no event names its conversation")
    reader = _Reader(conversation)
    yield Session(
        format=NAME,
        native_id=conversation,
        sub_file=name_stream(events),
        created=text_field(events[0], "time"),
        cwd=_directory_of(events[0]["input"]),
        details={"line": STREAM},
    )
    with source.open() as stream:
        for record in walk_stream(stream, source.size):
            yield from reader.read(record)
    yield from reader.finish()


class _Reader:
    """Turns the events of a conversation into messages."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._builder = RunBuilder(is_stream=True)
        self._end: RunEnd | None = None
        self._read: dict[str, Callable[[Record, dict[str, Any], str | None], None]] = {
            "beforeSubmitPrompt": self._read_prompt,
            "afterAgentThought": self._read_answer,
            "afterAgentResponse": self._read_answer,
            "afterFileEdit": self._read_call,
            "afterShellExecution": self._read_call,
            "afterMCPExecution": self._read_call,
            STOP: self._read_stop,
        }

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        given = object_field(value, "input")
        name = text_field(given, "hook_event_name") or ""
        if not _is_event(value) or text_field(given, "conversation_id") != self._conversation:
            self._builder.reject(record, "not an event of this conversation")
        elif name in self._read:
            self._builder.cwd = _directory_of(given) or self._builder.cwd
            self._builder.model = text_field(given, "model") or self._builder.model
            self._read[name](record, given, text_field(value, "time"))
        else:
            self._builder.add_state(record, name)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end)

    def _read_prompt(self, record: Record, given: dict[str, Any], time: str | None) -> None:
        self._end = None
        attached = given.get("attachments")
        files = [text_field(each, "filePath") or text_field(each, "file_path") for each in _objects(attached)]
        parts = [Part("file_ref", {"path": path, "op": "mention"}) for path in files if path]
        self._builder.begin(record, HUMAN, PROMPT, [Part("text", {"text": _text(given, "prompt")}), *parts], time=time)

    def _read_answer(self, record: Record, given: dict[str, Any], time: str | None) -> None:
        kind = "reasoning" if given["hook_event_name"] == "afterAgentThought" else "text"
        self._add_to_answer(record, given, [Part(kind, {"text": _text(given, "text")})], time)

    def _read_call(self, record: Record, given: dict[str, Any], time: str | None) -> None:
        """Add a call and its result, which one event has."""
        call_id = f"hook-{record.span.offset}"
        name, arguments, output = _call_of(given)
        call = Part("tool_call", {"call_id": call_id, "name": name, **arguments})
        result = Part("tool_result", {"call_id": call_id, "output": output})
        self._add_to_answer(record, given, [call, result], time)

    def _add_to_answer(self, record: Record, given: dict[str, Any], parts: list[Part], time: str | None) -> None:
        generation = text_field(given, "generation_id")
        if self._builder.continues(ANSWER, answer=generation) is not None:
            self._builder.add(record, parts)
            return
        found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
        found.answer = generation
        found.add_ids(generation)

    def _read_stop(self, record: Record, given: dict[str, Any], _time: str | None) -> None:
        status = text_field(given, "status") or ""
        self._end = RunEnd("success") if status == "completed" else RunEnd("error", status)
        self._builder.add_state(record, STOP)


def _call_of(given: Mapping[str, Any]) -> tuple[str, dict[str, Any], Any]:
    """Return the name, the fields of the arguments, and the output of a call.

    The hooks do not say how Cursor names its own tools.
    """
    if given["hook_event_name"] == "afterFileEdit":
        return "edit", {"input": {"file_path": given.get("file_path"), "edits": given.get("edits")}}, ""
    if given["hook_event_name"] == "afterShellExecution":
        return "shell", {"input": {"command": given.get("command")}}, given.get("output", "")
    return (
        text_field(given, "tool_name") or "mcp",
        read_arguments(given.get("tool_input")),
        given.get("result_json", ""),
    )


def _is_event(value: Mapping[str, Any]) -> bool:
    return value.get(MARK) == NAME and text_field(object_field(value, "input"), "conversation_id") is not None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _directory_of(given: Mapping[str, Any]) -> str | None:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first if isinstance(first, str) and first.startswith("/") else None
