"""Turn the records of a session of Kimi Code into messages.

A step is one answer of the model: its parts, its calls, their results, and an end with the tokens. The results become a
message of their own, so they are held back until the end of the step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from scopes.importers.formats.events import Ending, Event, Session
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.kimi.parts import read_call, read_content, read_result, read_usage
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    PROMPT,
    RESULTS,
    TOOL,
    OpenMessage,
    RunBuilder,
    time_of_milliseconds,
)
from scopes.importers.formats.stream_documents import digest_of_record
from scopes.model.message import Author, Part

NAME = "kimi"
MESSAGE, EVENT = "context.append_message", "context.append_loop_event"
_AGENT = Author(NAME, "agent")
_MAIN = "main"
_FILE = re.compile(r"(?:.*[/\\])?([^/\\]+)[/\\]agents[/\\]([^/\\]+)[/\\]wire\.jsonl", re.DOTALL)
_STATES = frozenset({
    "metadata", "config.update", "profile.bind", "llm.request", "llm.tools_snapshot", "turn.prompt", "turn.ended",
    "turn.steer", "turn.cancel", "turn.step.interrupted", "turn.step.retrying", "usage.record", "context.clear",
    "context.undo", "context.update_token_count", "forked", "plan.revision", "plugin.session_start",
    "interruptionReminder.recorded", "mcp.tools_discovered", "runtime.set_binding", "micro_compaction.apply",
})  # fmt: skip
_STATE_GROUPS = (
    "cron.", "file_history.", "full_compaction.", "goal.", "interaction.", "permission.", "plan_mode.", "prompt.",
    "staleGuard.", "swarm_mode.", "task.", "token_counting.", "tools.", "tower_mode.",
)  # fmt: skip
_INTERRUPTS = frozenset({"turn.cancel", "turn.step.interrupted", "prompt.aborted"})
_MAX_WORD = 64


class Reader:
    """Turns the records of one file into events; `head` are those at its beginning."""

    def __init__(self, path: str, head: list[dict[str, Any]]) -> None:
        self._builder = RunBuilder(is_stream=False)
        self._held: list[Record] = []  # results of the open step
        self._seen: set[str] = set()
        displays = (object_field(object_field(value, "event"), "display") for value in head)
        self._builder.cwd = next(filter(None, (text_field(display, "cwd") for display in displays)), None)
        header = next((value for value in head if value.get("type") == "metadata"), {})
        version = text_field(header, "protocol_version")
        file = _FILE.fullmatch(path)
        self.session = Session(
            format=NAME,
            native_id=file[1] if file is not None else digest_of_record(head[:2]),
            sub_file=file[2] if file is not None and file[2] != _MAIN else None,
            created=time_of_milliseconds(header.get("created_at")),
            cwd=self._builder.cwd,
            details={} if version is None else {"version": version},
        )
        self._events: dict[str, Callable[[Record, Mapping[str, Any]], None]] = {
            "content.part": self._read_part,
            "tool.call": self._read_call,
            "tool.result": self._hold_result,
            "step.end": self._end_step,
        }

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind, event = text_field(value, "type") or "", object_field(value, "event")
        step = text_field(event, "type") or ""
        if (digest := digest_of_record(value)) in self._seen and kind in {MESSAGE, EVENT}:
            self._builder.add_state(record, f"repeated/{(step or kind)[:_MAX_WORD]}")
        elif kind == EVENT and step in self._events:
            self._events[step](record, event)
        elif kind == MESSAGE and object_field(value, "message"):
            self._read_message(record, object_field(value, "message"))
        elif kind == "context.apply_compaction" and text_field(value, "summary") is not None:
            self._release_results()
            found = self._begin(record, INJECTED, "compaction", [Part("text", {"text": value["summary"]})])
            found.extra["context_root"] = True
        else:
            self._read_state(record, value, kind, step)
        self._seen.add(digest)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last messages and the Ending; an answer whose step has not ended may still change."""
        answer = self._builder.open if self._held else None
        self._release_results()
        for event in self._builder.finish():
            if isinstance(event, Ending) and answer is not None:
                yield replace(event, open=answer.key)
            else:
                yield event

    def _begin(self, record: Record, author: Author, kind: str, parts: list[Part]) -> OpenMessage:
        return self._builder.begin(
            record, author, kind, parts, time=time_of_milliseconds((record.value or {}).get("time"))
        )

    def _read_state(self, record: Record, value: Mapping[str, Any], kind: str, step: str) -> None:
        if kind == EVENT and step == "step.begin":
            self._release_results()
            self._builder.add_state(record, step)
        elif kind in _STATES or kind.startswith(_STATE_GROUPS):
            if kind == "config.update":
                self._builder.model = text_field(value, "modelAlias") or self._builder.model
            if kind == "llm.request" and value.get("kind") == "loop":
                self._builder.model = text_field(value, "model") or self._builder.model
            found = self._builder.open
            if kind in _INTERRUPTS and found is not None and found.kind == ANSWER:
                found.status = "interrupted"
            self._builder.add_state(record, kind[:_MAX_WORD])
        else:
            self._builder.reject(
                record, f"a record of the unknown type {(step or kind)[:_MAX_WORD]!a}" if kind else None
            )

    def _read_message(self, record: Record, message: dict[str, Any]) -> None:
        self._release_results()
        role, origin = text_field(message, "role"), text_field(object_field(message, "origin"), "kind")
        parts = list(read_content(message.get("content")))
        if role == "assistant":
            self._begin(record, _AGENT, ANSWER, parts)
        elif role == "user":
            self._begin(record, HUMAN if origin in {"user", None} else INJECTED, PROMPT, parts)
        else:
            self._begin(record, INJECTED, "system" if role == "system" else "notice", parts)

    def _step(self, record: Record, event: Mapping[str, Any], parts: list[Part]) -> OpenMessage:
        """Add parts to the answer of a step, which the first of them begins."""
        step = text_field(event, "stepUuid") or text_field(event, "uuid")
        found = self._builder.continues(ANSWER, None, step)
        if found is None:
            self._release_results()
            found = self._begin(record, _AGENT, ANSWER, parts)
            found.answer = step
            found.add_ids(step)
        else:
            self._builder.add(record, parts)
        return found

    def _read_part(self, record: Record, event: Mapping[str, Any]) -> None:
        self._step(record, event, list(read_content(event.get("part", {}))))

    def _read_call(self, record: Record, event: Mapping[str, Any]) -> None:
        self._builder.cwd = text_field(object_field(event, "display"), "cwd") or self._builder.cwd
        self._step(record, event, [read_call(event)])

    def _hold_result(self, record: Record, event: Mapping[str, Any]) -> None:
        found = self._builder.open
        if found is not None and found.kind == ANSWER:
            self._held.append(record)
        else:
            self._add_result(record, event)

    def _end_step(self, record: Record, event: Mapping[str, Any]) -> None:
        """Add the tokens to the answer, and its results behind it; a state if the step had no part and no call."""
        found = self._builder.continues(ANSWER, None, text_field(event, "uuid"))
        if found is None:
            self._builder.add_state(record, "step.end")
            return
        self._builder.add(record)
        found.add_ids(text_field(event, "messageId"))
        found.usage = read_usage(object_field(event, "usage")) or found.usage
        found.stop_reason = text_field(event, "finishReason") or found.stop_reason
        self._release_results()

    def _release_results(self) -> None:
        held, self._held = self._held, []
        for record in held:
            self._add_result(record, object_field(record.value or {}, "event"))

    def _add_result(self, record: Record, event: Mapping[str, Any]) -> None:
        part = read_result(event)
        if self._builder.continues(RESULTS) is None:
            self._begin(record, TOOL, RESULTS, [part])
        else:
            self._builder.add(record, [part])
