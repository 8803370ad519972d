"""The Kimi format: `wire.jsonl` of an agent of Kimi Code. The files of the older kimi-cli are others.

    sessions/PROJECT/SESSION/agents/main/wire.jsonl
    sessions/PROJECT/SESSION/state.json                has title and directory of the session

A step is one answer of the model: its parts, its calls, their results, and an end with the tokens. The results become a
message of their own, so they are held back until the end of the step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from scopes.errors import ScopesError
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders, find_below
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import (
    call_id_of,
    object_field,
    read_arguments,
    read_counts,
    read_file,
    short_word,
    text_field,
    time_of_milliseconds,
)
from scopes.importers.formats.records import Record, decode_object, digest_of_record, first_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    PROMPT,
    OpenMessage,
    RunBuilder,
    read_beginning,
    walk_session,
)
from scopes.model.message import Author, Part
from scopes.regular_file import read_regular

NAME = "kimi"
_MESSAGE, _EVENT = "context.append_message", "context.append_loop_event"
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
_EXIT_CODE = re.compile(r"Command failed with exit code: (-?\d{1,9})\.?\s*\Z")
_COUNTS = {
    "inputOther": "input_uncached", "inputCacheRead": "cache_read", "inputCacheCreation": "cache_write",
    "output": "output",
}  # fmt: skip
_STATE_FILE = "state.json"
_MAX_STATE = 1 << 20


def _find_session(top: str, session: str) -> str | None:
    """Return the file of the main agent of a session in the folder of any project; None if there is none."""
    return find_below(top, f"{session}/agents/main", lambda name: name == "wire.jsonl")


class Kimi(Format):
    """Kimi Code since protocol version 1.4."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("sessions",), _find_session)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        marked = b'"protocol_version"' in head or b'"context.' in head
        return marked and any(map(_is_record, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        yield from walk_session(source, _Reader(source.path, first_records(read_beginning(source))))


def _is_record(value: Mapping[str, Any]) -> bool:
    match value.get("type"):
        case "metadata":
            return text_field(value, "protocol_version") is not None and type(value.get("created_at")) is int
        case str(kind) if kind == _MESSAGE:
            return bool(object_field(value, "message"))
        case str(kind) if kind == _EVENT:
            return bool(object_field(value, "event"))
    return False


class _Reader:
    """Turns the records of one file into events; `head` are those at its beginning."""

    def __init__(self, path: str, head: list[dict[str, Any]]) -> None:
        self._builder = RunBuilder(is_stream=False)
        self._held: list[Record] = []  # results of the open step
        self._seen: set[str] = set()
        displays = (object_field(object_field(value, "event"), "display") for value in head)
        self._builder.cwd = next(filter(None, (text_field(display, "cwd") for display in displays)), None)
        state = _read_state_file(path)
        self._title = text_field(state, "title")
        header = next((value for value in head if value.get("type") == "metadata"), {})
        version = text_field(header, "protocol_version")
        file = _FILE.fullmatch(path)
        self.session = Session(
            format=NAME,
            native_id=file[1] if file is not None else digest_of_record(head[:2]),
            sub_file=file[2] if file is not None and file[2] != _MAIN else None,
            created=time_of_milliseconds(header.get("created_at")),
            cwd=self._builder.cwd,
            title=self._title,
            local_directory=text_field(state, "workDir"),
            details={} if version is None else {"version": version},
        )
        self._events: dict[str, Callable[[Record, Mapping[str, Any]], None]] = {
            "content.part": self._add_part,
            "tool.call": self._add_call,
            "tool.result": self._hold_result,
            "step.end": self._end_step,
        }

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind, event = text_field(value, "type") or "", object_field(value, "event")
        step = text_field(event, "type") or ""
        if (digest := digest_of_record(value)) in self._seen and kind in {_MESSAGE, _EVENT}:
            self._builder.add_state(record, f"repeated/{(step or kind)[:_MAX_WORD]}")
        elif kind == _EVENT and step in self._events:
            self._events[step](record, event)
        elif kind == _MESSAGE and object_field(value, "message"):
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
        yield from self._builder.finish(title=self._title, opened=None if answer is None else answer.key)

    def _begin(self, record: Record, author: Author, kind: str, parts: list[Part]) -> OpenMessage:
        return self._builder.begin(
            record, author, kind, parts, time=time_of_milliseconds((record.value or {}).get("time"))
        )

    def _read_state(self, record: Record, value: Mapping[str, Any], kind: str, step: str) -> None:
        if kind == _EVENT and step == "step.begin":
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
            name = short_word(value["event"], "type") if step else short_word(value, "type")
            self._builder.reject(record, f"a record of the unknown type {name}" if kind else None)

    def _read_message(self, record: Record, message: dict[str, Any]) -> None:
        self._release_results()
        role, origin = text_field(message, "role"), text_field(object_field(message, "origin"), "kind")
        parts = list(_read_content(message.get("content")))
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

    def _add_part(self, record: Record, event: Mapping[str, Any]) -> None:
        self._step(record, event, list(_read_content(event.get("part", {}))))

    def _add_call(self, record: Record, event: Mapping[str, Any]) -> None:
        self._builder.cwd = text_field(object_field(event, "display"), "cwd") or self._builder.cwd
        self._step(record, event, [_read_call(event)])

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
        found.usage = read_counts(object_field(event, "usage"), _COUNTS) or found.usage
        found.stop_reason = text_field(event, "finishReason") or found.stop_reason
        self._release_results()

    def _release_results(self) -> None:
        held, self._held = self._held, []
        for record in held:
            self._add_result(record, object_field(record.value or {}, "event"))

    def _add_result(self, record: Record, event: Mapping[str, Any]) -> None:
        time = time_of_milliseconds((record.value or {}).get("time"))
        self._builder.add_result(record, [_read_result(event)], time=time)


def _read_state_file(path: str) -> dict[str, Any]:
    """Return what Kimi Code keeps about the session of a file; nothing if it is not there or damaged."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    if _FILE.fullmatch(path) is None:
        return {}
    try:
        text = read_regular(os.path.join(folder, _STATE_FILE), _MAX_STATE).decode()
    except (OSError, ScopesError, UnicodeDecodeError):
        return {}
    return decode_object(text) or {}


def _read_content(content: object) -> Iterator[Part]:
    """Convert the content of a message: a text, or parts; unknown parts are kept raw."""
    blocks: list[Any] = content if isinstance(content, list) else [content] if content is not None else []
    for block in blocks:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": "think", "think": str(text)}:
                opaque = text_field(block, "encrypted")
                yield Part("reasoning", {"text": text, **({} if opaque is None else {"opaque": opaque})})
            case {"type": "image_url", "imageUrl": {"url": str(url)}}:
                yield read_file("image", url)
            case _:
                yield Part("raw", {"json": block})


def _read_call(event: Mapping[str, Any]) -> Part:
    """Convert a call: its id, name and arguments."""
    name = text_field(event, "name") or "tool"
    return Part("tool_call", {**call_id_of(event, "toolCallId"), "name": name, **read_arguments(event.get("args"))})


def _read_result(event: Mapping[str, Any]) -> Part:
    """Convert a result: its output, whether the call failed, and the exit code that the output of a shell ends with."""
    result = object_field(event, "result")
    output = result.get("output", event.get("result"))
    fields: dict[str, Any] = {**call_id_of(event, "toolCallId"), "output": output}
    found = _EXIT_CODE.search(output[-200:]) if isinstance(output, str) else None
    failed = result.get("isError") is True
    if failed or found is not None:
        fields["is_error"] = True
    if failed and found is not None:
        fields["exit_code"] = int(found[1])
    return Part("tool_result", fields)
