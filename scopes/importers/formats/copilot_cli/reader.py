"""Turn the events of a session of Copilot CLI into messages. Each event names the one before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from scopes.importers.formats.copilot_cli.event_file import is_event
from scopes.importers.formats.copilot_cli.parts import read_answer, read_prompt, read_result, read_text, read_usage
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    PROMPT,
    RESULTS,
    TOOL,
    OpenMessage,
    RunBuilder,
)
from scopes.importers.formats.stream_documents import digest_of_record
from scopes.model.message import Author, Part

NAME = "copilot-cli"
MESSAGES = frozenset({"user.message", "assistant.message", "system.message", "tool.execution_complete"})
_AGENT, _HARNESS = Author(NAME, "agent"), Author(NAME, "system")
_STATES = frozenset({
    "session.start", "session.resume", "session.info", "session.idle", "session.shutdown", "session.truncation",
    "session.model_change", "session.mode_changed", "session.title_changed", "session.context_changed",
    "session.usage_info", "session.usage_checkpoint", "session.auto_mode_resolved", "session.handoff",
    "session.snapshot_rewind", "session.compaction_start", "session.plan_changed", "session.task_complete",
    "session.workspace_file_changed", "pending_messages.modified", "assistant.turn_start", "assistant.turn_end",
    "assistant.intent", "assistant.message_delta", "assistant.reasoning_delta", "tool.user_requested",
    "tool.execution_start", "tool.execution_progress", "tool.execution_partial_result", "subagent.started",
    "subagent.completed", "subagent.failed", "subagent.selected", "hook.start", "hook.end", "skill.invoked",
})  # fmt: skip
_MAX_WORD = 64


class Reader:
    """Turns the events of one session into ours; `first` are those at the beginning of the file."""

    def __init__(self, first: list[dict[str, Any]]) -> None:
        start = next((value for value in first if value.get("type") == "session.start"), first[0] if first else {})
        data = object_field(start, "data")
        version = text_field(data, "copilotVersion")
        self._builder = RunBuilder(is_stream=False)
        self._links: dict[str, tuple[str | None, str | None]] = {}  # line and message, by the id of an event
        self._seen: set[str] = set()
        self._branch: str | None = None
        self._title: str | None = None
        self._read_context(data)
        self.session = Session(
            format=NAME,
            native_id=text_field(data, "sessionId") or digest_of_record(start),
            created=time_field(start),
            cwd=self._builder.cwd,
            details={} if version is None else {"version": version},
        )
        self._messages: dict[str, Callable[[Record, Mapping[str, Any]], None]] = {
            "user.message": self._read_prompt,
            "assistant.message": self._read_answer,
            "assistant.reasoning": self._read_reasoning,
            "assistant.usage": self._read_usage,
            "tool.execution_complete": self._read_result,
            "system.message": self._read_system,
            "system.notification": self._read_notice,
            "session.error": self._read_error,
            "session.compaction_complete": self._read_compaction,
            "abort": self._read_abort,
        }

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind = text_field(value, "type") or ""
        if not is_event(value):
            self._builder.reject(record, "not an event")
        elif (digest := digest_of_record(value)) in self._seen:
            self._builder.add_state(record, f"repeated/{kind[:_MAX_WORD]}")
        else:
            self._seen.add(digest)
            self._read_event(record, value, kind)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _read_event(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        data = object_field(value, "data")
        name, parent = text_field(value, "id"), text_field(value, "parentId")
        if kind in self._messages:
            self._messages[kind](record, data)
            found = self._builder.open
            if found is not None and record.span in found.spans:
                self._link(found, record, parent)
                found.add_ids(name)
                self._remember(name, (found.line, found.key))
                return
        elif kind in _STATES:
            self._read_state(kind, data)
            self._builder.add_state(record, kind)
        else:
            self._builder.reject(record, f"an event of the unknown type {kind[:_MAX_WORD]!a}")
        self._remember(name, self._links.get(parent or ""))

    def _link(self, found: OpenMessage, record: Record, parent: str | None) -> None:
        """Set the parent of a new message to that of the event before it, unless that is on another line."""
        line, message = self._links.get(parent or "", (None, None))
        if message is not None and line == found.line and found.key == str(record.span.offset):
            found.parent = message

    def _remember(self, name: str | None, place: tuple[str | None, str | None] | None) -> None:
        if name is not None and place is not None:
            self._links[name] = place

    def _read_state(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind in {"session.start", "session.resume", "session.context_changed"}:
            self._read_context(data)
        elif kind == "session.model_change":
            self._builder.model = text_field(data, "newModel") or self._builder.model
        elif kind == "assistant.turn_start":
            self._builder.model = text_field(data, "model") or self._builder.model
        elif kind == "session.title_changed":
            self._title = text_field(data, "title") or self._title

    def _read_context(self, data: Mapping[str, Any]) -> None:
        context = object_field(data, "context") or data
        self._builder.cwd = text_field(context, "cwd") or self._builder.cwd
        self._branch = text_field(context, "branch") or self._branch
        self._builder.model = text_field(data, "selectedModel") or self._builder.model

    def _begin(
        self, record: Record, data: Mapping[str, Any], author: Author, kind: str, parts: list[Part]
    ) -> OpenMessage:
        """Begin a message, on the line of a sub-agent if a call started it."""
        call = text_field(data, "parentToolCallId")
        found = self._builder.begin(
            record,
            author,
            kind,
            parts,
            time=time_field(record.value),
            line=call,
            spawned_by=None if call is None else {"call_id": call},
        )
        found.git_branch = self._branch
        return found

    def _read_prompt(self, record: Record, data: Mapping[str, Any]) -> None:
        typed = text_field(data, "source") in {None, "user"} and text_field(data, "parentAgentTaskId") is None
        self._begin(record, data, HUMAN if typed else INJECTED, PROMPT, list(read_prompt(data)))

    def _read_answer(self, record: Record, data: Mapping[str, Any]) -> None:
        """Read an answer, or a further part of one; reasoning may have come in an event of its own."""
        answer, line = text_field(data, "messageId"), text_field(data, "parentToolCallId")
        parts = list(read_answer(data))
        found = self._builder.continues(ANSWER, line, answer) if answer is not None else None
        found = found or self._builder.continues(ANSWER, line, None)
        if found is None or (found.answer is None and any(part.type != "reasoning" for part in found.parts)):
            found = self._begin(record, data, _AGENT, ANSWER, parts)
        else:
            self._builder.add(record, [part for part in parts if part not in found.parts or part.type != "reasoning"])
        found.answer = answer
        found.add_ids(answer)
        found.model = text_field(data, "model") or found.model
        found.usage = read_usage(data) or found.usage

    def _read_reasoning(self, record: Record, data: Mapping[str, Any]) -> None:
        text = text_field(data, "content")
        parts = [] if text is None else [Part("reasoning", {"text": text})]
        self._begin(record, data, _AGENT, ANSWER, parts)

    def _read_usage(self, record: Record, data: Mapping[str, Any]) -> None:
        """Add the tokens to the answer that they belong to; a state if that is closed already."""
        found = self._builder.open
        if found is None or found.kind != ANSWER:
            self._builder.add_state(record, "assistant.usage")
            return
        self._builder.add(record)
        found.model = text_field(data, "model") or found.model
        found.usage = read_usage(data) or found.usage

    def _read_result(self, record: Record, data: Mapping[str, Any]) -> None:
        part = read_result(data)
        if self._builder.continues(RESULTS, text_field(data, "parentToolCallId")) is None:
            self._begin(record, data, TOOL, RESULTS, [part])
        else:
            self._builder.add(record, [part])

    def _read_system(self, record: Record, data: Mapping[str, Any]) -> None:
        self._begin(record, data, INJECTED, "system", list(read_text(data)))

    def _read_notice(self, record: Record, data: Mapping[str, Any]) -> None:
        self._begin(record, data, _HARNESS, "notice", list(read_text(data)))

    def _read_error(self, record: Record, data: Mapping[str, Any]) -> None:
        text = text_field(data, "message") or text_field(data, "errorType") or "error"
        self._begin(record, data, _HARNESS, ERROR, [Part("text", {"text": text})]).status = "error"

    def _read_compaction(self, record: Record, data: Mapping[str, Any]) -> None:
        text = text_field(data, "summaryContent")
        if text is None:
            self._builder.add_state(record, "session.compaction_complete")
            return
        self._begin(record, data, INJECTED, "compaction", [Part("text", {"text": text})])

    def _read_abort(self, record: Record, data: Mapping[str, Any]) -> None:
        """Mark the answer that was interrupted, and add the interrupt."""
        found = self._builder.open
        if found is not None and found.kind == ANSWER:
            found.status = "interrupted"
        text = text_field(data, "reason") or "interrupted"
        self._begin(record, data, _HARNESS, "interrupt", [Part("text", {"text": text})])
