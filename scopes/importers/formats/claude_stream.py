"""Read what `claude -p` prints as `json` or `stream-json`, and the execution file of its action, a JSON array.

Qwen Code prints the same envelope around its messages; the readers have the name of the agent as a parameter. The
session file has more, except the end: status, cost and the calls that were denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_parts import (
    MAX_WORD,
    NAME,
    Calls,
    Tokens,
    count_tokens,
    describe_usage,
    is_result,
    read_blocks,
    read_part,
    read_results,
)
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import number_field, object_field, text_field, time_field
from scopes.importers.formats.records import Record, digest_of_record, first_records, name_stream
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
    read_beginning,
    walk_runs,
)
from scopes.model.message import Author, Part

_MESSAGES = frozenset({"assistant", "user", "result"})
_STATES = frozenset({
    "system", "stream_event", "rate_limit_event", "keep_alive", "control_request", "control_response",
    "control_cancel_request", "tool_progress", "auth_status",
})  # fmt: skip
_API_ERROR = re.compile(r"\s*\[?API Error\b")
_LIMIT = "error_max_"
_BY_QWEN = "qwen_code_version"


def is_envelope(values: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if one of the first records of a source is of such a stream.

    The command line of Cursor has the same envelope, without the tools, the turns and the ids of messages.
    """
    return any(map(_is_enveloped, values))


def is_by_qwen(values: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if Qwen Code printed the records: it says so, or uses a record's uuid as the id of its message."""
    for value in values:
        if _is_init(value):
            return _BY_QWEN in value
        name = text_field(object_field(value, "message"), "id")
        if value.get("type") == "assistant" and name is not None:
            return name == value.get("uuid")
    return False


def walk_envelope(source: Source, agent: str) -> Iterator[Event]:
    """Yield the events of what an agent printed; records of another session begin another one."""
    yield from walk_runs(source, _Reader(agent, first_records(read_beginning(source))))


def _is_init(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "system" and value.get("subtype") == "init" and "session_id" in value


def _is_enveloped(value: Mapping[str, Any]) -> bool:
    if "isSidechain" in value or text_field(value, "session_id") is None:
        return False
    if _is_init(value):
        return "tools" in value or "claude_code_version" in value or _BY_QWEN in value
    if value.get("type") == "result":
        return "num_turns" in value or "permission_denials" in value
    return value.get("type") == "assistant" and text_field(object_field(value, "message"), "id") is not None


class _Reader:
    """Turns the records of one run into events."""

    def __init__(self, agent: str, head: list[dict[str, Any]]) -> None:
        init = next(filter(_is_init, head), {})
        named = (text_field(value, "session_id") for value in [init, *head])
        self._agent = agent
        self._builder = RunBuilder(is_stream=True)
        self._builder.cwd, self._builder.model = text_field(init, "cwd"), text_field(init, "model")
        self._calls: Calls = {}
        self._seen: set[str] = set()
        self._tokens: dict[str, Tokens] = {}  # of each answer, in all its messages so far
        self._before: tuple[str, Tokens] = ("", {})  # the open answer, and the tokens of its earlier messages
        self._agents: dict[str, str] = {}  # types of sub-agents, by the call that started them
        self._texts: list[str] = []
        self._result: dict[str, Any] | None = None
        version = text_field(init, "claude_code_version") or text_field(init, _BY_QWEN)
        self.session = Session(
            format=agent,
            native_id=next(filter(None, named), None) or digest_of_record(head[0] if head else None),
            sub_file=name_stream(value for value in head if value.get("type") in _MESSAGES),
            created=next(filter(None, map(time_field, head)), None),
            cwd=self._builder.cwd,
            details={"line": STREAM, **({} if version is None else {"version": version})},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the run of another session."""
        return _is_init(value) and text_field(value, "session_id") not in {None, self.session.native_id}

    def next_run(self, value: dict[str, Any]) -> _Reader:
        """Return the reader of the session that a record begins."""
        return _Reader(self._agent, [value])

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind, uuid = text_field(value, "type"), text_field(value, "uuid")
        if kind is None:
            self._builder.reject(record, "a record without a type")
        elif kind in _MESSAGES and f"{kind} {uuid}" in self._seen:
            self._builder.add_state(record, f"repeated/{kind}")
        elif kind in _MESSAGES:
            self._result = value if kind == "result" else None  # the run may go on after its end
            read = {"assistant": self._read_answer, "user": self._read_user, "result": self._read_end}[kind]
            read(record, value)
        elif kind in _STATES:
            self._result = None if _is_init(value) else self._result
            inner = text_field(value, "subtype") or text_field(object_field(value, "event"), "type")
            self._builder.add_state(record, kind if inner is None else f"{kind}/{inner[:MAX_WORD]}")
        else:
            self._builder.reject(record, f"a record of unknown type {kind[:MAX_WORD]!a}")
        if uuid is not None:
            self._seen.add(f"{kind} {uuid}")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=None if self._result is None else self._read_run_end(self._result))

    def _read_answer(self, record: Record, value: dict[str, Any]) -> None:
        message = object_field(value, "message")
        blocks = [
            block
            for block in read_blocks(message.get("content")) or []
            if isinstance(block, dict) and f"call {block.get('id')}" not in self._seen
        ]
        if not blocks:
            self._builder.add_state(record, "assistant/empty")
            return
        line, spawned_by = self._line_of(value)
        name = text_field(message, "id")
        parts = [read_part(block) for block in blocks]
        found = self._builder.continues(ANSWER, line, name) if name is not None else None
        if found is None:
            author = Author(line or self._agent, "agent")
            time = time_field(value)
            found = self._builder.begin(record, author, ANSWER, parts, time=time, line=line, spawned_by=spawned_by)
            found.answer = name
            self._before = found.key, self._tokens.get(name or found.key, {})
        else:
            self._builder.add(record, parts)
        found.add_ids(name, text_field(value, "uuid"))
        found.model = text_field(message, "model") or found.model
        found.stop_reason = text_field(message, "stop_reason") or found.stop_reason
        if usage := object_field(message, "usage"):
            tokens = self._tokens[name or found.key] = self._count(usage)
            found.usage = describe_usage(usage, tokens, self._before[1])
        for block in blocks:
            match block:
                case {"type": "tool_use", "id": str(call), "name": str()}:
                    self._calls[call] = (found.key, block)
                    self._seen.add(f"call {call}")
                    self._agents[call] = text_field(object_field(block, "input"), "subagent_type") or "agent"
        if line is None:
            self._texts += [part.text for part in parts if part.type == "text"]

    def _count(self, usage: Mapping[str, Any]) -> Tokens:
        """Return the tokens in a usage; other agents than Claude Code count cached input as input too."""
        tokens = count_tokens(usage)
        own = tokens[None]
        if self._agent != NAME and "input_uncached" in own:
            own["input_uncached"] = max(0, own["input_uncached"] - own.get("cache_read", 0))
        return tokens

    def _read_user(self, record: Record, value: dict[str, Any]) -> None:
        blocks = read_blocks(object_field(value, "message").get("content")) or []
        line, spawned_by = self._line_of(value)
        time = time_field(value)
        if any(map(is_result, blocks)):
            results = read_results(blocks, value.get("tool_use_result"), self._calls)
            found = self._builder.continues(RESULTS, line)
            if found is None:
                found = self._builder.begin(
                    record, TOOL, RESULTS, results.parts, time=time, line=line, spawned_by=spawned_by
                )
            else:
                self._builder.add(record, results.parts)
            found.files |= dict.fromkeys(results.files)
            found.status = results.status or found.status
        elif blocks:
            typed = line is None and value.get("isSynthetic") is not True
            author, kind = HUMAN if typed else INJECTED, PROMPT if typed or line is not None else META
            parts = [read_part(block) for block in blocks]
            found = self._builder.begin(record, author, kind, parts, time=time, line=line, spawned_by=spawned_by)
        else:
            self._builder.add_state(record, "user/empty")
            return
        found.add_ids(text_field(value, "uuid"))

    def _line_of(self, value: Mapping[str, Any]) -> tuple[str | None, dict[str, str] | None]:
        """Return the name of the sub-agent of a record and the call that started it; None on the main line."""
        call = text_field(value, "parent_tool_use_id")
        if call is None:
            return None, None
        return text_field(value, "subagent_type") or self._agents.get(call, "agent"), {"call_id": call}

    def _read_end(self, record: Record, value: dict[str, Any]) -> None:
        """Read the end record; its text is a message if no answer before has it, as in `--output-format json`."""
        text = text_field(value, "result") or "\n".join(_texts(value.get("errors")))
        last = self._builder.open
        if not text or (not self._builder.is_empty and (last is None or last.kind != RESULTS)):
            self._builder.add_state(record, "result")
            return
        failed = value.get("is_error") is True or _API_ERROR.match(text) is not None
        author = Author(self._agent, "system" if failed else "agent")
        found = self._builder.begin(record, author, ERROR if failed else ANSWER, [Part("text", {"text": text})])
        found.status = "error" if failed else None
        usage = object_field(value, "usage")
        if usage and not failed:
            found.usage = describe_usage(usage, self._count(usage), {})
        self._texts.append(text)

    def _read_run_end(self, value: Mapping[str, Any]) -> RunEnd:
        subtype = text_field(value, "subtype") or ""
        errors = [*_texts(value.get("errors")), *filter(None, [text_field(object_field(value, "error"), "message")])]
        only_errors = bool(self._texts) and all(map(_API_ERROR.match, self._texts)) and not self._builder.calls
        reported = value.get("is_error") is True or subtype.startswith("error_") or bool(errors and not subtype)
        failed = reported or only_errors
        if only_errors or (reported and not errors):
            errors += filter(None, [text_field(value, "result") or "".join(self._texts[-1:])])
        turns, milliseconds = number_field(value, "num_turns"), number_field(value, "duration_ms")
        usage, denials = object_field(value, "usage"), value.get("permission_denials")
        denied = [each for each in denials if isinstance(each, dict)] if isinstance(denials, list) else []
        names = [text_field(each, "tool_use_id") or text_field(each, "tool_name") for each in denied]
        word = subtype if subtype != "success" else ""
        return RunEnd(
            status="limit" if subtype.startswith(_LIMIT) else "error" if failed else "success",
            detail=": ".join(filter(None, [word, "; ".join(errors)])) if failed else "",
            cost_usd=number_field(value, "total_cost_usd"),
            turns=None if turns is None or turns < 0 else int(turns),
            seconds=None if milliseconds is None else milliseconds / 1000,
            denials=tuple(name for name in names if name),
            usage=self._count(usage)[None] if usage else None,
        )


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
