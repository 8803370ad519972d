"""Read the events of OpenHands before 1.0: actions of somebody, and observations, which name the action as their cause.

Their fields are those of openhands/events/serialization/event.py of All-Hands-AI/OpenHands at 0.x. A call of the model
is in `tool_call_metadata`, with the whole response; older versions have the action alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scopes.clock import parse_time
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.openai.parts import read_arguments
from scopes.importers.formats.openhands.parts import read_content, read_reasoning
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

_AGENT: Final = Author("openhands", "agent")
_HARNESS: Final = Author("openhands", "system")
_SOURCES: Final = ("agent", "user", "environment")
_STATE_ACTIONS: Final = frozenset({
    "change_agent_state", "condensation_request", "loop_recovery", "null", "pause", "recall", "resume", "start", "stop",
})  # fmt: skip
_STATE_OBSERVATIONS: Final = frozenset({"agent_state_changed", "condense", "loop_detection", "null", "recall"})
_TOOLS: Final = {"run": "execute_bash", "run_ipython": "execute_ipython_cell"}  # by the action that a call became
_ENVIRONMENT: Final = frozenset({"thought", "is_confirmed", "confirmation_state", "hidden", "security_risk"})


def is_old_event(value: Mapping[str, Any]) -> bool:
    """Return True for an event of a version before 1.0."""
    if (
        type(value.get("id")) is not int
        or value.get("source") not in _SOURCES
        or text_field(value, "timestamp") is None
    ):
        return False
    has_action = text_field(value, "action") is not None and isinstance(value.get("args"), dict)
    return has_action or (text_field(value, "observation") is not None and "content" in value)


class OldEvents:
    """Adds events to the messages of a conversation."""

    def __init__(self, builder: RunBuilder, usage: RunningUsage) -> None:
        self._builder = builder
        self._usage = usage

    def read(self, record: Record, value: Mapping[str, Any]) -> None:
        """Read the next event."""
        metrics = object_field(value, "llm_metrics")
        if metrics:
            self._usage.update({"usage_to_metrics": {"agent": metrics}})
        if text_field(value, "action") is None:
            self._read_observation(record, value, str(value["observation"]))
        else:
            self._read_action(record, value, str(value["action"]))

    def _read_action(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        args, source = object_field(value, "args"), value.get("source")
        if kind == "message" and source == "agent":
            self._begin_answer(record, value, _message_parts(args), None)
        elif kind == "message":
            author, ours = (HUMAN, PROMPT) if source == "user" else (INJECTED, META)
            self._begin(record, value, author, ours, _message_parts(args))
        elif kind == "system":
            self._begin(record, value, INJECTED, "system", read_content(args.get("content")))
        elif kind == "condensation" and text_field(args, "summary") is not None:
            parts = [*read_content(args["summary"]), Part("raw", lossless_field("json", dict(args)))]
            self._begin(record, value, _HARNESS, "compaction", parts)
        elif kind in _STATE_ACTIONS or kind == "condensation":
            self._builder.add_state(record, f"action/{kind}")
        elif source == "agent":
            self._read_call(record, value, kind)
        else:
            self._builder.reject(record, f"an action {kind[:64]!a} of {source}")

    def _read_call(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read a call; calls of one response of the model are one answer."""
        called = object_field(value, "tool_call_metadata")
        response = object_field(called, "model_response")
        message = _message_of(response)
        call = _call_part(value, kind, called, message)
        name = text_field(response, "id")
        found = self._builder.continues(ANSWER, None, name) if name is not None else None
        if found is not None:
            self._builder.add(record, [call])
            found.add_ids(_name_of(value))
            return
        thought = text_field(object_field(value, "args"), "thought")
        content = [thought] if thought is not None else message.get("content")
        self._begin_answer(record, value, [*read_reasoning(message), *read_content(content), call], name)
        if self._builder.open is not None:
            self._builder.open.model = text_field(response, "model") or self._builder.open.model

    def _begin_answer(self, record: Record, value: Mapping[str, Any], parts: list[Part], name: str | None) -> None:
        found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time_of_event(value))
        found.answer = name
        found.add_ids(name, _name_of(value))
        found.model = self._usage.model
        found.usage = self._usage.take()

    def _read_observation(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        called = text_field(object_field(value, "tool_call_metadata"), "tool_call_id")
        cause = value.get("cause")
        call_id = called or (f"event-{cause}" if type(cause) is int else None)
        if kind in _STATE_OBSERVATIONS:
            self._builder.add_state(record, f"observation/{kind}")
        elif kind == "error" and call_id is None:
            self._begin(record, value, _HARNESS, ERROR, read_content(value.get("content")))
        else:
            part = _result_part(value, kind, call_id)
            if self._builder.continues(RESULTS) is None:
                self._begin(record, value, TOOL, RESULTS, [part])
            else:
                self._builder.add(record, [part])

    def _begin(
        self, record: Record, value: Mapping[str, Any], author: Author, kind: str, parts: Iterator[Part] | list[Part]
    ) -> None:
        found = self._builder.begin(record, author, kind, parts, time=time_of_event(value))
        found.add_ids(_name_of(value))
        found.status = "error" if kind == ERROR else None
        if kind == RESULTS:
            found.cwd = text_field(object_field(object_field(value, "extras"), "metadata"), "working_dir")


def time_of_event(value: Mapping[str, Any]) -> str | None:
    """Return the time of an event; one without a zone is taken as UTC."""
    text = text_field(value, "timestamp") or ""
    return next((time for time in (f"{text}Z", text) if parse_time(time) is not None), None)


def _name_of(value: Mapping[str, Any]) -> str:
    return f"event-{value['id']}"


def _message_parts(args: Mapping[str, Any]) -> list[Part]:
    images = args.get("image_urls")
    urls = [{"type": "image", "image_urls": images}] if isinstance(images, list) and images else []
    return [*read_content(args.get("content")), *read_content(urls)]


def _message_of(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of a response of the model, in the shape of chat completions."""
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return object_field(first, "message") if isinstance(first, dict) else {}


def _call_part(value: Mapping[str, Any], kind: str, called: Mapping[str, Any], message: Mapping[str, Any]) -> Part:
    """Return the call of an action: as the model made it, or else the fields of the action."""
    call_id = text_field(called, "tool_call_id") or _name_of(value)
    known = {"call_id": call_id, "name": text_field(called, "function_name") or _TOOLS.get(kind, kind)}
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and call.get("id") == call_id and "arguments" in object_field(call, "function"):
            return Part("tool_call", {**known, **read_arguments(call["function"]["arguments"])})
    args = {each: arg for each, arg in object_field(value, "args").items() if each not in _ENVIRONMENT}
    return Part("tool_call", {**known, **lossless_field("input", args)})


def _result_part(value: Mapping[str, Any], kind: str, call_id: str | None) -> Part:
    fields: dict[str, Any] = {} if call_id is None else {"call_id": call_id}
    fields |= lossless_field("output", value.get("content"))
    extras = object_field(value, "extras")
    code = object_field(extras, "metadata").get("exit_code", extras.get("exit_code"))
    failed = kind in {"error", "user_rejected"}
    if type(code) is int and code >= 0:
        fields["exit_code"] = code
        failed = failed or code != 0
    fields |= {"is_error": True} if failed else {}
    return Part("tool_result", {**fields, **(lossless_field("structured", extras) if extras else {})})
