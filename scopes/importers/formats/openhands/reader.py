"""Turn the events of a conversation of OpenHands into messages: those of the SDK, and those of versions before 1.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.object_lists import digest_of_values, short_word
from scopes.importers.formats.openhands.old_events import OldEvents, is_old_event, time_of_event
from scopes.importers.formats.openhands.parts import read_call, read_content, read_reasoning, read_result
from scopes.importers.formats.openhands.usage import RunningUsage
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    RESULTS,
    TOOL,
    RunBuilder,
)
from scopes.model.message import Author, Part

NAME = "openhands"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_SOURCES = frozenset({"agent", "user", "environment", "hook"})
_STATES = frozenset({
    "ConversationStateUpdateEvent", "TokenEvent", "LLMCompletionLogEvent", "CondensationRequest", "HookExecutionEvent",
    "StreamingDeltaEvent", "ACPToolCallEvent",
})  # fmt: skip


def is_event(value: Mapping[str, Any]) -> bool:
    """Return True for an event of any version."""
    return is_old_event(value) or _is_event(value)


def _is_event(value: Mapping[str, Any]) -> bool:
    kind = text_field(value, "kind")
    named = text_field(value, "id") is not None and text_field(value, "timestamp") is not None
    return kind is not None and named and text_field(value, "source") in _SOURCES


class EventReader:
    """Turns the events of one conversation into ours."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        events = [value for value in head if is_event(value)]
        self.title: str | None = None
        self._builder = RunBuilder(is_stream=False)
        self._usage = RunningUsage()
        self._old = OldEvents(self._builder, self._usage)
        self._seen: set[str] = set()
        name = next(filter(None, map(_conversation_of, head)), None)
        self.session = Session(
            format=NAME,
            native_id=name or digest_of_values(iter([_identity(events[0])] if events else head[:1])),
            created=time_of_event(events[0]) if events else None,
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next event; yield those of ours that are complete."""
        value = record.value or {}
        kind, name = text_field(value, "kind"), text_field(value, "id")
        if is_old_event(value):
            self._read_old(record, value)
        elif not _is_event(value) or kind is None or name is None:
            if _conversation_of(value) is not None:
                self._builder.add_state(record, "base_state")
            else:
                self._builder.reject(record, "not an event")
        elif name in self._seen:
            self._builder.add_state(record, f"repeated/{kind[:64]}")
        else:
            self._seen.add(name)
            self._read_event(record, value, kind)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        found = self._builder.open
        if found is not None and found.kind == ANSWER and found.usage is None:
            found.usage = self._usage.take()
        yield from self._builder.finish(title=self.title)

    def _read_old(self, record: Record, value: Mapping[str, Any]) -> None:
        name = str(value["id"])
        if name in self._seen:
            self._builder.add_state(record, "repeated/event")
        else:
            self._seen.add(name)
            self._old.read(record, value)

    def _read_event(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        if kind == "ActionEvent":
            self._read_action(record, value)
        elif kind == "MessageEvent":
            self._read_message(record, value)
        elif kind in {"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"}:
            self._read_result(record, value, kind)
        elif kind in _STATES:
            if text_field(value, "key") in {"stats", "full_state"}:
                self._usage.update(object_field(value, "value"))
            self._builder.add_state(record, kind)
        else:
            self._read_other(record, value, kind)

    def _read_action(self, record: Record, value: Mapping[str, Any]) -> None:
        """Read a call; calls of one response of the model are one answer."""
        name = text_field(value, "llm_response_id")
        found = self._builder.continues(ANSWER, None, name) if name is not None else None
        if found is not None:
            self._builder.add(record, [read_call(value)])
            found.add_ids(text_field(value, "id"))
            return
        parts = [*read_reasoning(value), *read_content(value.get("thought")), read_call(value)]
        self._begin_answer(record, value, parts, name)

    def _read_message(self, record: Record, value: Mapping[str, Any]) -> None:
        message = object_field(value, "llm_message")
        parts = [*read_reasoning(message), *read_content(message.get("content"))]
        if value.get("source") == "agent" or message.get("role") == "assistant":
            self._begin_answer(record, value, parts, text_field(value, "llm_response_id"))
            return
        is_human = value.get("source") == "user" and text_field(value, "sender") is None
        author, kind = (HUMAN, PROMPT) if is_human else (INJECTED, META)
        self._builder.begin(record, author, kind, parts, time=time_of_event(value)).add_ids(text_field(value, "id"))

    def _begin_answer(self, record: Record, value: Mapping[str, Any], parts: list[Part], name: str | None) -> None:
        found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time_of_event(value))
        found.answer = name
        found.add_ids(name, text_field(value, "id"))
        found.model = self._usage.model
        found.usage = self._usage.take()

    def _read_result(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        part = read_result(value, kind)
        if part is None:
            self._builder.reject(record, f"a result without content, {kind}")
        elif self._builder.continues(RESULTS) is None:
            found = self._builder.begin(record, TOOL, RESULTS, [part], time=time_of_event(value))
            found.add_ids(text_field(value, "id"))
            found.cwd = _directory_of(value)
        else:
            self._builder.add(record, [part])

    def _read_other(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read an event that is neither an answer nor a result."""
        match kind:
            case "SystemPromptEvent":
                author, ours, parts = INJECTED, "system", list(read_content([value.get("system_prompt")]))
            case "Condensation" | "CondensationSummaryEvent":
                summary = text_field(value, "summary")
                author, ours, parts = _HARNESS, "compaction", list(read_content([] if summary is None else [summary]))
            case "ConversationErrorEvent" | "ServerErrorEvent":
                text = ": ".join(filter(None, [text_field(value, "code"), text_field(value, "detail")])) or "error"
                author, ours, parts = _HARNESS, ERROR, [Part("text", {"text": text})]
            case "PauseEvent" | "InterruptEvent":
                author, ours, parts = HUMAN, "interrupt", [Part("text", {"text": "paused"})]
            case _:
                self._builder.reject(record, f"an event of the kind {short_word(value, 'kind')}")
                return
        found = self._builder.begin(record, author, ours, parts, time=time_of_event(value))
        found.add_ids(text_field(value, "id"))
        found.status = "error" if ours == ERROR else None
        if ours == "compaction":
            found.parts.append(Part("raw", lossless_field("json", dict(value))))


def _conversation_of(value: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation in the state of one, as a file or in an event; None if there is none."""
    state = object_field(value, "value") if value.get("key") == "full_state" else value
    return text_field(state, "id") if "agent" in state and "workspace" in state else None


def _identity(event: Mapping[str, Any]) -> Any:
    """Return what tells the first event of a conversation from those of others; a number alone does not."""
    return [event["id"], event["timestamp"]] if is_old_event(event) else event["id"]


def _directory_of(value: Mapping[str, Any]) -> str | None:
    return text_field(object_field(object_field(value, "observation"), "metadata"), "working_dir")
