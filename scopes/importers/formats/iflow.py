"""The iFlow format: session files with the records of Claude Code and the tools of Gemini CLI.

While an answer streams, iFlow writes it again and again: each record has the last call of the one before and the next
one. All of them name the prompt as their parent, so the order in the file counts, and each call once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, find_below
from scopes.importers.formats.claude_parts import (
    MAX_WORD,
    count_tokens,
    describe_usage,
    is_result,
    read_blocks,
    read_part,
)
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.gemini_parts import read_response
from scopes.importers.formats.records import Record, first_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    PROMPT,
    RESULTS,
    TOOL,
    RunBuilder,
    read_beginning,
    walk_session,
)
from scopes.model.message import Author, Part

NAME = "iflow"
_AGENT = Author(NAME, "agent")
_MESSAGES = frozenset({"user", "assistant"})
_INJECTED = ("<system-reminder>", "<command-name>", "<command-message>", "<local-command-", "<session_context>")
_SESSION = "session-"  # session ids begin with this, those of Claude Code do not
_SIDE = "sidechain"


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the folder of any project; None if there is none."""
    return find_below(top, "", lambda name: name == f"{session}.jsonl")


class Iflow:
    """iFlow CLI."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("projects",), _find_session)
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return b'"isSidechain"' in head and any(map(_is_record, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        yield from walk_session(source, _Reader(first_records(read_beginning(source))))


class _Reader:
    """Turns the records of a session file into events."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        first = next(filter(_is_record, head), {})
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = text_field(first, "cwd")
        self._seen: set[str] = set()
        self._calls: set[str] = set()
        version = text_field(first, "version")
        self.session = Session(
            format=NAME,
            native_id=text_field(first, "sessionId") or _SESSION,
            created=time_field(first),
            cwd=self._builder.cwd,
            details={} if version is None else {"version": version},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind, name = text_field(value, "type"), text_field(value, "uuid")
        if kind is None:
            self._builder.reject(record, "not a record of a session")
        elif kind not in _MESSAGES or not object_field(value, "message"):
            self._builder.add_state(record, kind[:MAX_WORD])
        elif name in self._seen:
            self._builder.add_state(record, f"repeated/{kind}")
        else:
            if name is not None:
                self._seen.add(name)
            self._read_message(record, value, kind)
            found = self._builder.open
            if found is not None:
                found.add_ids(text_field(object_field(value, "message"), "id"), name)
                found.git_branch = text_field(value, "gitBranch") or found.git_branch
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish()

    def _read_message(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        self._builder.cwd = text_field(value, "cwd") or self._builder.cwd
        message, time = object_field(value, "message"), time_field(value)
        status = text_field(object_field(value, "toolUseResult"), "status")
        blocks = read_blocks(message.get("content")) or []
        parts = [_read_result(block, status) if is_result(block) else read_part(block) for block in blocks]
        line = _SIDE if value.get("isSidechain") is True else None
        if kind == "assistant":
            self._read_answer(record, message, [part for part in parts if self._is_new(part)], time, line)
        elif parts and all(part.type == "tool_result" for part in parts):
            if self._builder.continues(RESULTS, line) is None:
                self._builder.begin(record, TOOL, RESULTS, parts, time=time, line=line)
            else:
                self._builder.add(record, parts)
        else:
            text = next((part.text for part in parts if part.type == "text"), "")
            injected = value.get("isMeta") is True or text.startswith(_INJECTED)
            self._builder.begin(record, INJECTED if injected else HUMAN, PROMPT, parts, time=time, line=line)

    def _read_answer(
        self, record: Record, message: dict[str, Any], parts: list[Part], time: str | None, line: str | None
    ) -> None:
        found = self._builder.continues(ANSWER, line)
        if found is None:
            found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time, line=line)
        else:
            known = {part.text for part in found.parts if part.type == "text"}
            self._builder.add(record, [part for part in parts if part.type != "text" or part.text not in known])
        found.model = text_field(message, "model") or found.model
        found.stop_reason = text_field(message, "stop_reason") or found.stop_reason
        usage = object_field(message, "usage")
        if any((tokens := count_tokens(usage))[None].values()):  # most versions write zeros
            found.usage = describe_usage(usage, tokens, {})

    def _is_new(self, part: Part) -> bool:
        """Return True unless the part is a call that an earlier record has."""
        call = part.fields.get("call_id")
        if part.type != "tool_call" or not isinstance(call, str):
            return True
        new = call not in self._calls
        self._calls.add(call)
        return new


def _is_record(value: Mapping[str, Any]) -> bool:
    named = (text_field(value, "sessionId") or "").startswith(_SESSION)
    return named and isinstance(value.get("isSidechain"), bool) and text_field(value, "type") is not None


def _read_result(block: Mapping[str, Any], status: str | None) -> Part:
    """Convert a result: the response of a function of Gemini CLI with its status, or a result as of Claude Code."""
    call, content = text_field(block, "tool_use_id"), block.get("content")
    known: dict[str, Any] = {} if call is None else {"call_id": call}
    if isinstance(block.get("is_error"), bool):
        known["is_error"] = block["is_error"]
    if not isinstance(content, dict) or "responseParts" not in content:
        return Part("tool_result", {**known, "output": content})
    response = object_field(object_field(content, "responseParts"), "functionResponse")
    if not response:
        known |= {"output": content["responseParts"]}
    else:
        known = {**read_response(response, status).fields, **known}
    if isinstance(content.get("resultDisplay"), dict):
        known |= {"structured": content["resultDisplay"]}
    return Part("tool_result", known)
