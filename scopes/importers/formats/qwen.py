"""The Qwen Code format: session files, and what `qwen -p` prints, which is the envelope of Claude Code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, find_below
from scopes.importers.formats.claude_stream import is_by_qwen, is_envelope, walk_envelope
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.gemini_parts import read_parts, read_usage
from scopes.importers.formats.records import Record, digest_of_record, first_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    PROMPT,
    RESULTS,
    TOOL,
    ParentLinks,
    RunBuilder,
    read_beginning,
    walk_session,
)
from scopes.model.message import Author, Part

NAME = "qwen"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_COMPACTION = "compaction"
_MESSAGES = frozenset({"user", "assistant", "tool_result"})
_MAX_WORD = 64  # characters of a record type in a state's key


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the directory of any project; None if there is none."""
    return find_below(top, "chats", lambda name: name == f"{session}.jsonl")


class Qwen:
    """Qwen Code since its sessions are JSON lines."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("projects",), _find_session, "QWEN_RUNTIME_DIR")
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if b'"session_id"' not in head and b'"parentUuid"' not in head:
            return False
        records = first_records(head)
        return any(map(_is_linked, records)) or (is_envelope(records) and is_by_qwen(records))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        head = first_records(read_beginning(source))
        if not any(map(_is_linked, head)):
            yield from walk_envelope(source, NAME)
            return
        yield from walk_session(source, _Reader(head))


class _Reader:
    """Turns the records of a session file into events; telemetry is between the messages in the chain of parents."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        first = next(filter(_is_linked, head))
        self._builder = RunBuilder(is_stream=False)
        self._links = ParentLinks()
        self._seen: set[str] = set()
        self._title: str | None = None
        self._builder.cwd = text_field(first, "cwd")
        self.session = Session(
            format=NAME,
            native_id=text_field(first, "sessionId") or digest_of_record(first),
            created=time_field(first),
            cwd=self._builder.cwd,
            details={"version": version} if (version := text_field(first, "version")) else {},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind, name = text_field(value, "type"), text_field(value, "uuid")
        parent = text_field(value, "parentUuid")
        if kind is None or name is None:
            self._builder.reject(record, "not a record of a session")
        elif self._links.knows(name) and digest_of_record(value) in self._seen:
            self._builder.add_state(record, f"repeated/{kind[:_MAX_WORD]}")
        elif kind in _MESSAGES:
            self._read_message(record, value, kind)
            self._link(record, value)
        elif summary := _read_summary(value):
            self._builder.begin(record, _HARNESS, _COMPACTION, summary, time=time_field(value)).context_root = True
            self._link(record, value)
        else:
            self._title = text_field(object_field(value, "systemPayload"), "customTitle") or self._title
            self._links.add(name, self._links.find(parent))
            inner = text_field(value, "subtype")
            word = kind[:_MAX_WORD]
            self._builder.add_state(record, word if inner is None else f"{word}/{inner[:_MAX_WORD]}")
        if name is not None:
            self._seen.add(digest_of_record(value))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _link(self, record: Record, value: Mapping[str, Any]) -> None:
        """Give the open message its place in the tree."""
        found, name, parent = self._builder.open, text_field(value, "uuid"), text_field(value, "parentUuid")
        if found is not None:
            if self._links.knows(parent) and found.key == str(record.span.offset):
                found.parent = self._links.find(parent)
            found.add_ids(name)
            self._links.add(name, found.key)

    def _read_message(self, record: Record, value: Mapping[str, Any], kind: str) -> None:
        self._builder.cwd = text_field(value, "cwd") or self._builder.cwd
        parts = list(read_parts(object_field(value, "message").get("parts")))
        time = time_field(value)
        if kind == "tool_result":
            results = [_with_status(part, object_field(value, "toolCallResult")) for part in parts]
            if self._builder.continues(RESULTS) is None:
                self._builder.begin(record, TOOL, RESULTS, results, time=time)
            else:
                self._builder.add(record, results)
            return
        if kind == "user":
            found = self._builder.begin(record, HUMAN, PROMPT, parts, time=time)
        else:
            found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
            found.model = text_field(value, "model")
            found.usage = read_usage(object_field(value, "usageMetadata"))
        found.git_branch = text_field(value, "gitBranch")


def _with_status(part: Part, result: Mapping[str, Any]) -> Part:
    """Return a result with the failure that only the record around it tells."""
    same = part.type == "tool_result" and result.get("callId") == part.fields.get("call_id")
    failed = same and text_field(result, "status") in {"error", "cancelled"}
    return Part(part.type, {**part.fields, "is_error": True}) if failed else part


def _read_summary(value: Mapping[str, Any]) -> list[Part]:
    """Return the parts with which a compressed history begins; none if a record has no such history."""
    history = object_field(value, "systemPayload").get("compressedHistory")
    first = history[0] if isinstance(history, list) and history else None
    return list(read_parts(first.get("parts"))) if isinstance(first, dict) else []


def _is_linked(value: Mapping[str, Any]) -> bool:
    """Return True if a record is one of a session file: linked, and with the parts of the Gemini API if a message."""
    if not ("parentUuid" in value and text_field(value, "uuid") and text_field(value, "sessionId")):
        return False
    if "isSidechain" in value:
        return False
    has_parts = isinstance(object_field(value, "message").get("parts"), list)
    return (has_parts and text_field(value, "type") in _MESSAGES) or (
        value.get("type") == "system" and "systemPayload" in value
    )
