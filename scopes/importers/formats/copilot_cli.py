"""The Copilot CLI format: `events.jsonl` of a session. Each event names the one before it.

A resumed session goes on in the same file, also on the line of an event that was cut when the program ended
(github/copilot-cli#4098), and strings may have line ends inside (#2649). The tokens that count are in the event
`session.shutdown`, one for each time that the program ran, by model: the last message of that time gets what its
answers have not reported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import (
    call_id_of,
    count_field,
    list_field,
    object_field,
    read_arguments,
    short_word,
    text_field,
    time_field,
)
from scopes.importers.formats.records import Record, decode_first, digest_of_record, first_records, walk_stream
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
    read_beginning,
    walk_session,
)
from scopes.model.message import Author, Part

NAME = "copilot-cli"
_AGENT, _HARNESS = Author(NAME, "agent"), Author(NAME, "system")
_MESSAGES = frozenset({"user.message", "assistant.message", "system.message", "tool.execution_complete"})
_STATES = frozenset({
    "session.start", "session.resume", "session.info", "session.idle", "session.truncation",
    "session.model_change", "session.mode_changed", "session.title_changed", "session.context_changed",
    "session.usage_info", "session.usage_checkpoint", "session.auto_mode_resolved", "session.handoff",
    "session.snapshot_rewind", "session.compaction_start", "session.plan_changed", "session.task_complete",
    "session.workspace_file_changed", "pending_messages.modified", "assistant.turn_start", "assistant.turn_end",
    "assistant.intent", "assistant.message_delta", "assistant.reasoning_delta", "tool.user_requested",
    "tool.execution_start", "tool.execution_progress", "tool.execution_partial_result", "subagent.started",
    "subagent.completed", "subagent.failed", "subagent.selected", "hook.start", "hook.end", "skill.invoked",
})  # fmt: skip
_BEGINNING = re.compile(r'(?=\{\s*"(?:type|data|id|timestamp|parentId)"\s*:)')  # of an event behind a cut one
_EXIT_CODE = re.compile(r"<exited with exit code (-?\d{1,9})>\s*\Z")
_COUNTS = {
    "inputTokens": "input_uncached", "cacheReadTokens": "cache_read", "cacheWriteTokens": "cache_write",
    "outputTokens": "output",
}  # fmt: skip


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session; None if there is none. Older versions had no folder for it."""
    names = (os.path.join(top, session, "events.jsonl"), os.path.join(top, f"{session}.jsonl"))
    return next((name for name in names if os.path.isfile(name)), None)


class CopilotCli(Format):
    """Copilot CLI since it keeps the events of a session."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("session-state",), _find_session)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if b'"parentId"' not in head or b'"data"' not in head:
            return False
        return any(
            text_field(value, "type") in _MESSAGES or text_field(object_field(value, "data"), "sessionId") is not None
            for value in first_records(head)
            if _is_event(value)
        )

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        first = [value for value in first_records(read_beginning(source)) if _is_event(value)]
        yield from walk_session(source, _Reader(first), walk_event_file)


def _is_event(value: Mapping[str, Any]) -> bool:
    """Return True for the envelope of an event."""
    return text_field(value, "type") is not None and isinstance(value.get("data"), dict) and "parentId" in value


def _is_event_at(text: str, start: int) -> bool:
    try:
        value = decode_first(text, start)[0] if text.startswith("{", start) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and _is_event(value)


def walk_event_file(stream: BinaryIO, size: int) -> Iterator[Record]:
    """Yield the records of a file, also the events behind a cut one on the same line."""
    return walk_stream(stream, size, _is_event_at, _BEGINNING)


class _Reader:
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
        self._counted: dict[str | None, dict[str, int]] = {}  # token counts since the program started, by model
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
            "system.message": lambda record, data: self._read_text(record, data, INJECTED, "system"),
            "system.notification": lambda record, data: self._read_text(record, data, _HARNESS, "notice"),
            "session.error": self._read_error,
            "session.shutdown": self._read_shutdown,
            "session.compaction_complete": self._read_compaction,
            "abort": self._read_abort,
        }

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        if not _is_event(value):
            self._builder.reject(record, "not an event")
        elif (digest := digest_of_record(value)) in self._seen:
            self._builder.add_state(record, f"repeated/{value['type'][:64]}")
        else:
            self._seen.add(digest)
            self._read_event(record, value, value["type"])
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _read_event(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        """Read an event. A new message follows that of the event before it, unless that is on another line."""
        data = object_field(value, "data")
        name, before = text_field(value, "id"), self._links.get(text_field(value, "parentId") or "")
        if kind in self._messages:
            self._messages[kind](record, data)
            found = self._builder.open
            if found is not None and record.span in found.spans:
                line, message = before or (None, None)
                if message is not None and line == found.line and found.key == str(record.span.offset):
                    found.parent = message
                found.add_ids(name)
                before = found.line, found.key
        elif kind in _STATES:
            self._read_state(kind, data)
            self._builder.add_state(record, kind)
        else:
            self._builder.reject(record, f"an event of the unknown type {short_word(value, 'type')}")
        if name is not None and before is not None:
            self._links[name] = before

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
        self._begin(record, data, HUMAN if typed else INJECTED, PROMPT, [*_read_content(data), *_read_attached(data)])

    def _read_answer(self, record: Record, data: Mapping[str, Any]) -> None:
        """Read an answer, or a further part of one; reasoning may have come in an event of its own."""
        answer, line = text_field(data, "messageId"), text_field(data, "parentToolCallId")
        parts = list(_read_answer(data))
        found = self._builder.continues(ANSWER, line, answer) if answer is not None else None
        found = found or self._builder.continues(ANSWER, line, None)
        if found is None or (found.answer is None and any(part.type != "reasoning" for part in found.parts)):
            found = self._begin(record, data, _AGENT, ANSWER, parts)
        else:
            self._builder.add(record, [part for part in parts if part not in found.parts or part.type != "reasoning"])
        found.answer = answer
        found.add_ids(answer)
        self._add_usage(found, data)

    def _read_reasoning(self, record: Record, data: Mapping[str, Any]) -> None:
        text = text_field(data, "content")
        self._begin(record, data, _AGENT, ANSWER, [] if text is None else [Part("reasoning", {"text": text})])

    def _read_usage(self, record: Record, data: Mapping[str, Any]) -> None:
        """Add the tokens to the answer that they belong to; a state if that is closed already."""
        found = self._builder.open
        if found is None or found.kind != ANSWER:
            self._builder.add_state(record, "assistant.usage")
        else:
            self._builder.add(record)
            self._add_usage(found, data)

    def _add_usage(self, found: OpenMessage, data: Mapping[str, Any]) -> None:
        """Set the model and the tokens of an answer, and remember those for the end of the run."""
        found.model = text_field(data, "model") or found.model
        counts = _count_tokens(data)
        if not any(counts.values()):
            return
        counted = self._counted.setdefault(found.model, {})
        for name, count in counts.items():
            counted[name] = counted.get(name, 0) + count - (found.usage or {}).get(name, 0)
        found.usage = {**counts, "raw": {name: data[name] for name in _COUNTS if name in data}}

    def _read_shutdown(self, record: Record, data: Mapping[str, Any]) -> None:
        """Add the tokens of the run to its last message: those that no answer has, of its model and of other models."""
        totals = {
            model: _count_tokens(object_field(metrics, "usage"))
            for model, metrics in object_field(data, "modelMetrics").items()
            if isinstance(metrics, dict)
        }
        left = {
            model: {name: max(0, count - self._counted.get(model, {}).get(name, 0)) for name, count in counts.items()}
            for model, counts in totals.items()
        }
        self._counted = {}
        found = self._builder.open
        used = {model: counts for model, counts in left.items() if any(counts.values())}
        if found is None or found.author.kind == "human" or not used:
            self._builder.add_state(record, "session.shutdown")
            return
        self._builder.add(record)
        found.model = found.model or next(iter(used))
        own, known = used.pop(found.model, {}), dict(found.usage or {})
        others = [{"model": model, **counts} for model, counts in used.items()]
        counts = {name: known.get(name, 0) + own.get(name, 0) for name in _COUNTS.values()}
        raw = {**known.get("raw", {}), "modelMetrics": data["modelMetrics"]}
        found.usage = {**counts, "raw": raw, **({"others": others} if others else {})}

    def _read_result(self, record: Record, data: Mapping[str, Any]) -> None:
        part = _read_result(data)
        if self._builder.continues(RESULTS, text_field(data, "parentToolCallId")) is None:
            self._begin(record, data, TOOL, RESULTS, [part])
        else:
            self._builder.add(record, [part])

    def _read_text(self, record: Record, data: Mapping[str, Any], author: Author, kind: str) -> None:
        self._begin(record, data, author, kind, list(_read_content(data)))

    def _read_error(self, record: Record, data: Mapping[str, Any]) -> None:
        text = text_field(data, "message") or text_field(data, "errorType") or "error"
        self._begin(record, data, _HARNESS, ERROR, [Part("text", {"text": text})]).status = "error"

    def _read_compaction(self, record: Record, data: Mapping[str, Any]) -> None:
        text = text_field(data, "summaryContent")
        if text is None:
            self._builder.add_state(record, "session.compaction_complete")
        else:
            self._begin(record, data, INJECTED, "compaction", [Part("text", {"text": text})])

    def _read_abort(self, record: Record, data: Mapping[str, Any]) -> None:
        """Mark the answer that was interrupted, and add the interrupt."""
        found = self._builder.open
        if found is not None and found.kind == ANSWER:
            found.status = "interrupted"
        text = text_field(data, "reason") or "interrupted"
        self._begin(record, data, _HARNESS, "interrupt", [Part("text", {"text": text})])


def _count_tokens(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the token counts of an answer or a model; the input includes the cache. Old versions only tell output."""
    counts = {ours: count for theirs, ours in _COUNTS.items() if (count := count_field(usage, theirs)) is not None}
    if "input_uncached" in counts:
        cached = counts.get("cache_read", 0) + counts.get("cache_write", 0)
        counts["input_uncached"] = max(0, counts["input_uncached"] - cached)
    return counts


def _read_content(data: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the content of a message; content that is no text is kept raw."""
    content = data.get("content")
    if isinstance(content, str):
        yield from [Part("text", {"text": content})] if content else []
    elif content is not None:
        yield Part("raw", {"json": content})


def _read_attached(data: Mapping[str, Any]) -> Iterator[Part]:
    for each in list_field(data, "attachments"):
        match each:
            case {"type": "file" | "directory", "path": str(path)}:
                yield Part("file_ref", {"path": path, "op": "mention"})
            case _:
                yield Part("raw", {"json": each})


def _read_answer(data: Mapping[str, Any]) -> Iterator[Part]:
    """Convert an answer: reasoning, text and calls."""
    text, opaque = text_field(data, "reasoningText"), text_field(data, "reasoningOpaque")
    if text is not None or opaque is not None:
        yield Part("reasoning", {"text": text or "", **({} if opaque is None else {"opaque": opaque})})
    yield from _read_content(data)
    for call in list_field(data, "toolRequests"):
        match call:
            case {"name": str(name)}:
                given = read_arguments(call.get("arguments"))
                yield Part("tool_call", {**call_id_of(call, "toolCallId"), "name": name, **given})
            case _:
                yield Part("raw", {"json": call})


def _read_result(data: Mapping[str, Any]) -> Part:
    """Convert the end of a call: its output or error, and the exit code that the output of a shell ends with."""
    result, error = data.get("result"), object_field(data, "error")
    output = result.get("content", result) if isinstance(result, dict) else result
    if output is None and error:
        output = text_field(error, "message") or error
    fields: dict[str, Any] = {**call_id_of(data, "toolCallId"), "output": output}
    found = _EXIT_CODE.search(output[-200:]) if isinstance(output, str) else None
    if found is not None:
        fields["exit_code"] = int(found[1])
    failed = data.get("success") is False or (found is not None and int(found[1]) != 0)
    if failed or data.get("success") is True:
        fields["is_error"] = failed
    return Part("tool_result", fields)
