"""Read what `claude -p` prints as `json` or `stream-json`, and the execution file of its action, a JSON array.

Other agents print the same envelope around their messages; `EnvelopeReader` has the name of the agent as a parameter.
The session file has more, except the end: status, cost and the calls that were denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code.message_builder import read_counts
from scopes.importers.formats.claude_code.record import MAX_WORD, NAME, is_result, read_part
from scopes.importers.formats.claude_code.tool_calls import ToolCalls
from scopes.importers.formats.claude_code.tool_results import read_results
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import number_field, object_field, text_field, time_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.run_builder import ANSWER, ERROR, HUMAN, INJECTED, META, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.importers.formats.session_walk import read_beginning
from scopes.importers.formats.stream_documents import digest_of_record, first_records, name_stream, walk_stream
from scopes.model.message import Author, Part

_MESSAGES = frozenset({"assistant", "user", "result"})
_STATES = frozenset({
    "system", "stream_event", "rate_limit_event", "keep_alive", "control_request", "control_response",
    "control_cancel_request", "tool_progress", "auth_status",
})  # fmt: skip
API_ERROR = re.compile(r"\s*\[?API Error\b")
_LIMIT = "error_max_"
_BY_AGENT = "qwen_code_version"


def is_envelope(values: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if one of the first records of a source is of such a stream."""
    return any(_is_init(value) or _is_enveloped(value) for value in values)


def is_by_qwen(values: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if Qwen Code printed the records: it says so, or uses a record's uuid as the id of its message."""
    for value in values:
        if _is_init(value):
            return _BY_AGENT in value
        name = text_field(object_field(value, "message"), "id")
        if value.get("type") == "assistant" and name is not None:
            return name == value.get("uuid")
    return False


def may_be_envelope(head: bytes) -> bool:
    """Return True unless the beginning of a source is certainly not of such a stream; this is fast."""
    return b'"session_id"' in head and (b'"result"' in head or b'"init"' in head or b'"message"' in head)


def walk_envelope(source: Source, name: str) -> Iterator[Event]:
    """Yield the events of a stream; records of another session begin another one."""
    head = first_records(read_beginning(source))
    reader = EnvelopeReader(name, head)
    yield reader.session
    with source.open() as stream:
        for record in walk_stream(stream, source.size):
            if record.value is not None and reader.ends_at(record.value):
                yield from reader.finish()
                reader = EnvelopeReader(name, [record.value])
                yield reader.session
            yield from reader.read(record)
    yield from reader.finish()


class EnvelopeReader:
    """Turns the records of one run into events."""

    def __init__(self, name: str, head: list[dict[str, Any]]) -> None:
        init = next((value for value in head if _is_init(value)), {})
        named = (text_field(value, "session_id") for value in [init, *head])
        first = digest_of_record(head[0] if head else None)
        self._id = next((found for found in named if found), first)
        self._name = name
        self._author = Author(name, "agent")
        self._builder = RunBuilder(is_stream=True)
        self._builder.cwd, self._builder.model = text_field(init, "cwd"), text_field(init, "model")
        self._calls = ToolCalls()
        self._seen: set[str] = set()
        self._counted: dict[str, dict[str, int]] = {}
        self._agents: dict[str, str] = {}  # types of sub-agents, by the call that started them
        self._texts: list[str] = []
        self._result: dict[str, Any] | None = None
        version = text_field(init, "claude_code_version") or text_field(init, _BY_AGENT)
        self.session = Session(
            format=name,
            native_id=self._id,
            sub_file=name_stream(_with_content(head)),
            created=next(filter(None, map(time_field, head)), None),
            cwd=self._builder.cwd,
            details={"line": STREAM, **({} if version is None else {"version": version})},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the run of another session."""
        return _is_init(value) and text_field(value, "session_id") not in {None, self._id}

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value, kind = record.value, None if record.value is None else text_field(record.value, "type")
        uuid = None if value is None else text_field(value, "uuid")
        if value is None or kind is None:
            self._builder.reject(record, "a record without a type")
        elif kind in _MESSAGES and uuid is not None and f"{kind} {uuid}" in self._seen:
            self._builder.add_state(record, f"repeated/{kind}")
        elif kind == "assistant":
            self._result = None  # the run goes on after its end
            self._read_answer(record, value)
        elif kind == "user":
            self._result = None
            self._read_user(record, value)
        elif kind == "result":
            self._read_end(record, value)
        elif kind in _STATES:
            self._result = None if _is_init(value) else self._result
            self._builder.add_state(record, _state_key(value, kind))
        else:
            self._builder.reject(record, f"a record of unknown type {kind[:MAX_WORD]!a}")
        if uuid is not None:
            self._seen.add(f"{kind} {uuid}")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end())

    def _read_answer(self, record: Record, value: dict[str, Any]) -> None:
        message = object_field(value, "message")
        blocks = [block for block in _blocks(message.get("content")) if not self._is_known_call(block)]
        if not blocks:
            self._builder.add_state(record, "assistant/empty")
            return
        line, spawned_by = self._line_of(value)
        name = text_field(message, "id")
        parts = [read_part(block) for block in blocks]
        found = self._builder.continues(ANSWER, line, name) if name is not None else None
        if found is None:
            author = self._author if line is None else Author(line, "agent")
            found = self._builder.begin(
                record, author, ANSWER, parts, time=time_field(value), line=line, spawned_by=spawned_by
            )
            found.answer = name
        else:
            self._builder.add(record, parts)
        found.add_ids(name, text_field(value, "uuid"))
        found.model = text_field(message, "model") or found.model
        found.stop_reason = text_field(message, "stop_reason") or found.stop_reason
        self._set_usage(found.answer or found.key, message)
        for block in blocks:
            self._calls.add(found.key, block)
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self._seen.add(f"call {block['id']}")
                self._agents[block["id"]] = text_field(object_field(block, "input"), "subagent_type") or "agent"
        if line is None:
            self._texts += [part.text for part in parts if part.type == "text"]

    def _set_usage(self, answer: str, message: dict[str, Any]) -> None:
        """Set the usage of the open answer, less what earlier messages of the same answer reported."""
        usage, found = object_field(message, "usage"), self._builder.open
        if not usage or found is None:
            return
        before = self._counted.get(f"{answer} {found.key}")
        if before is None:
            before = self._counted[f"{answer} {found.key}"] = self._counted.get(answer, {})
        counts = self._read_counts(usage)
        less = {each: max(0, count - before.get(each, 0)) for each, count in counts.items()}
        found.usage = {**less, **lossless_field("raw", usage)}
        self._counted[answer] = counts

    def _read_counts(self, usage: dict[str, Any]) -> dict[str, int]:
        """Return the token counts of a usage; other agents than Claude Code count cached input as input too."""
        counts = read_counts(usage)
        if self._name != NAME and "input_uncached" in counts:
            counts["input_uncached"] = max(0, counts["input_uncached"] - counts.get("cache_read", 0))
        return counts

    def _read_user(self, record: Record, value: dict[str, Any]) -> None:
        blocks = _blocks(object_field(value, "message").get("content"))
        line, spawned_by = self._line_of(value)
        if any(map(is_result, blocks)):
            structured = value.get("tool_use_result")
            results = read_results({"toolUseResult": structured}, blocks, self._calls)
            found = self._builder.continues(RESULTS, line)
            if found is None:
                found = self._builder.begin(
                    record, TOOL, RESULTS, results.parts, time=time_field(value), line=line, spawned_by=spawned_by
                )
            else:
                self._builder.add(record, results.parts)
            found.files |= dict.fromkeys(results.files)
            found.status = results.status or found.status
        elif blocks:
            typed = line is None and value.get("isSynthetic") is not True
            found = self._builder.begin(
                record,
                HUMAN if typed else INJECTED,
                PROMPT if typed or line is not None else META,
                [read_part(block) for block in blocks],
                time=time_field(value),
                line=line,
                spawned_by=spawned_by,
            )
        else:
            self._builder.add_state(record, "user/empty")
            return
        found.add_ids(text_field(value, "uuid"))

    def _read_end(self, record: Record, value: dict[str, Any]) -> None:
        """Read the end record; its text is a message if no answer before has it, as in `--output-format json`."""
        self._result = value
        text = text_field(value, "result") or "\n".join(_texts(value.get("errors")))
        last = self._builder.open
        if not text or (not self._builder.is_empty and (last is None or last.kind != RESULTS)):
            self._builder.add_state(record, "result")
            return
        failed = value.get("is_error") is True or API_ERROR.match(text) is not None
        author = Author(self._name, "system") if failed else self._author
        found = self._builder.begin(record, author, ERROR if failed else ANSWER, [Part("text", {"text": text})])
        found.status = "error" if failed else None
        usage = object_field(value, "usage")
        if usage and not failed:
            found.usage = {**self._read_counts(usage), **lossless_field("raw", usage)}
        self._texts.append(text)

    def _end(self) -> RunEnd | None:
        value = self._result
        if value is None:
            return None
        subtype = text_field(value, "subtype") or ""
        errors = [*_texts(value.get("errors")), *filter(None, [text_field(object_field(value, "error"), "message")])]
        reported = self._texts and all(map(API_ERROR.match, self._texts)) and not self._builder.calls
        failed = value.get("is_error") is True or subtype.startswith("error_") or bool(errors and not subtype)
        if reported or (failed and not errors):
            errors += [text for text in [text_field(value, "result") or "".join(self._texts[-1:])] if text]
        word = subtype if subtype != "success" else ""
        turns, milliseconds = number_field(value, "num_turns"), number_field(value, "duration_ms")
        usage = object_field(value, "usage")
        denials = value.get("permission_denials")
        return RunEnd(
            status="limit" if subtype.startswith(_LIMIT) else "error" if failed or reported else "success",
            detail=": ".join(filter(None, [word, "; ".join(errors)])) if failed or reported else "",
            cost_usd=number_field(value, "total_cost_usd"),
            turns=None if turns is None or turns < 0 else int(turns),
            seconds=None if milliseconds is None else milliseconds / 1000,
            denials=tuple(_denied(each) for each in (denials if isinstance(denials, list) else []) if _denied(each)),
            usage=self._read_counts(usage) if usage else None,
        )

    def _line_of(self, value: Mapping[str, Any]) -> tuple[str | None, dict[str, str] | None]:
        """Return the name of the sub-agent of a record and the call that started it; None on the main line."""
        call = text_field(value, "parent_tool_use_id")
        if call is None:
            return None, None
        name = text_field(value, "subagent_type") or self._agents.get(call, "agent")
        return f"{name}", {"call_id": call}

    def _is_known_call(self, block: object) -> bool:
        """Return True if a block repeats a call, or is no block at all."""
        if not isinstance(block, dict):
            return True
        return block.get("type") == "tool_use" and f"call {block.get('id')}" in self._seen


def _is_init(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "system" and value.get("subtype") == "init" and "session_id" in value


def _is_enveloped(value: Mapping[str, Any]) -> bool:
    if "isSidechain" in value or text_field(value, "session_id") is None:
        return False
    if value.get("type") == "result":
        return "num_turns" in value or "is_error" in value or "permission_denials" in value
    return text_field(value, "type") in {"assistant", "user"} and isinstance(value.get("message"), dict)


def _with_content(head: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (value for value in head if text_field(value, "type") in _MESSAGES)


def _blocks(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _denied(value: object) -> str:
    fields = value if isinstance(value, dict) else {}
    return text_field(fields, "tool_use_id") or text_field(fields, "tool_name") or ""


def _state_key(value: Mapping[str, Any], kind: str) -> str:
    inner = text_field(value, "subtype") or text_field(object_field(value, "event"), "type")
    return kind if inner is None else f"{kind}/{inner[:MAX_WORD]}"
