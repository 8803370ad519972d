"""The Codex format: a rollout has the model's history and the event log of the user interface in one file.

Messages come from the model's history; of the event log only what the history does not have is used. Other records are
kept as states. One answer of the model is one message, although it is written item by item.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from itertools import chain, islice
from typing import Any, NamedTuple

from scopes.clock import parse_time
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, list_entries
from scopes.importers.formats.codex_items import (
    COMPACTIONS,
    OUTPUTS,
    ToolReport,
    UsageCounter,
    identify_author,
    is_total,
    read_answer_item,
    read_content,
    read_report,
    read_result,
    sum_usage,
)
from scopes.importers.formats.codex_stream import NAME, is_stream, walk_stream_events
from scopes.importers.formats.events import ByteRange, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.records import Record, walk_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    PROMPT,
    RESULTS,
    TOOL,
    OpenMessage,
    read_beginning,
    report_unknown_parts,
)
from scopes.model.message import COPIED, Author, FileTouch, Part
from scopes.model.tools import touches_of_call

_SESSION, _ITEM, _EVENT, _TURN = "session_meta", "response_item", "event_msg", "turn_context"
_COMPACTED, _USAGE, _COMMUNICATION = "compacted", "token_usage_record", "inter_agent_communication"
_KNOWN = frozenset({_SESSION, _ITEM, _EVENT, _TURN, _COMPACTED, _USAGE, _COMMUNICATION, "world_state"})
_SEPARATOR = "state"  # in the oldest rollouts
_ITEM_STATES = frozenset({"ghost_snapshot"})
_TURN_EVENTS = frozenset({"task_started", "task_complete", "turn_aborted"})
_INTERRUPT, _SUMMARY, _COMPACTION = "interrupt", "summary", "compaction"
_MODEL_KINDS = frozenset({ANSWER, _SUMMARY})
_HARNESS = Author(NAME, "system")

_MAX_WORD = 64  # characters of a record type in a state's key
_AHEAD = 8  # records that are searched for the session record
_TRIED = 20  # records of which one must be a rollout record
_CUT_BEGINNING = b'"type":"session_meta"'
_NAMING_BYTES = 4096
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_FILE_NAME = re.compile(rf"rollout-.*?-({_UUID})(?:_({_UUID}))?\.jsonl(?:\.zst)?")
_DAY = re.compile(r"\d{2}|\d{4}")
_TIMED_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_SPAWNED = "You are the newly spawned agent."  # the only record of a fork before its first turn
_PAUSE = 1_000_000_000  # nanoseconds; copies are written without a pause


def _find_rollout(top: str, thread: str) -> str | None:
    """Return the newest file of a thread below the folders of years, months and days; None if there is none."""
    folders = [top]
    for _ in range(3):
        folders = [
            os.path.join(folder, name)
            for folder in folders
            for name in sorted((each.name for each in list_entries(folder) if _DAY.fullmatch(each.name)), reverse=True)
        ]
    for folder in folders:
        names = [each.name for each in list_entries(folder) if each.name.endswith(f"-{thread}.jsonl")]
        if names:
            return os.path.join(folder, max(names))
    return None


class Codex:
    """Codex rollouts of all versions, also those split into several files, and what `codex exec --json` prints."""

    name = NAME
    file_suffixes = (".jsonl", ".jsonl.zst")
    standard_folders = StandardFolders(AGENTS[NAME], ("sessions", "archived_sessions"), _find_rollout)
    sub_agent_fields = ("new_thread_id",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return _is_rollout(head) or is_stream(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        head = read_beginning(source)
        if not _is_rollout(head) and is_stream(head):
            yield from walk_stream_events(source)
            return
        with source.open() as stream:
            records = walk_records(stream, source.size)
            ahead = _look_ahead(records)
            known = [parsed for record in ahead if (parsed := _parse_record(record)) is not None]
            reader = _Reader(known, source.path, head[:_NAMING_BYTES].partition(b"\n")[0])
            yield reader.session
            for record in chain(ahead, records):
                yield from reader.read(record)
            if not ahead and source.size:
                yield Unparsed(spans=(ByteRange(0, source.size),), reason="only whitespace")
            yield from reader.finish()


class _Rollout(NamedTuple):
    """A record without its envelope: since autumn 2025 it is `{timestamp, type, payload}`, before an item had none."""

    kind: str
    payload: Mapping[str, Any]
    span: ByteRange
    time: str | None = None
    metadata: Mapping[str, Any] = {}

    @property
    def type(self) -> str:
        """Return the type of the payload; empty if it has none."""
        return text_field(self.payload, "type") or ""

    @property
    def key(self) -> str:
        """Return the key of the record as a state: its type and its payload's type."""
        kind = self.kind[:_MAX_WORD]
        return f"{kind}/{self.type[:_MAX_WORD]}" if self.type else kind


def _parse_record(record: Record) -> _Rollout | None:
    """Return a record without its envelope; None if it is not a record of a rollout."""
    value: Any = record.value
    match value:
        case {"type": str(kind), "payload": payload}:
            if not isinstance(payload, dict):
                return None
            return _Rollout(kind, payload, record.span, time_field(value), object_field(value, "metadata"))
        case {"record_type": str(kind)}:
            return _Rollout(kind, {}, record.span)
        case {"type": str()}:
            return _Rollout(_ITEM, value, record.span)
        case {"id": str(), "timestamp": str()}:
            return _Rollout(_SESSION, value, record.span, time_field(value))
    return None


def _is_rollout(head: bytes) -> bool:
    """Return True if a source begins with a record that only rollouts have, or with one that is cut off."""
    records = list(islice(walk_records(BytesIO(head), len(head)), _TRIED))
    if len(records) == 1 and records[0].problem is not None:
        return _CUT_BEGINNING in head[:200]
    for record in records:
        value: Any = record.value
        match value:
            case {"timestamp": str(), "type": str(kind), "payload": dict()} if kind in _KNOWN:
                return True
            case {"id": str(), "timestamp": str(), "instructions": _} | {
                "id": str(),
                "timestamp": str(),
                "git": dict(),
            }:
                if "type" not in value and "role" not in value:
                    return True
            case {"record_type": "state"} if len(value) == 1:
                return True
    return False


def _look_ahead(records: Iterator[Record]) -> list[Record]:
    """Return the records up to the session record, if it is among the first."""
    ahead: list[Record] = []
    for record in records:
        ahead.append(record)
        parsed = _parse_record(record)
        if len(ahead) == _AHEAD or (parsed is not None and parsed.kind == _SESSION):
            break
    return ahead


def _read_session(record: _Rollout, path: str, first_line: bytes) -> Session:
    """Return the session of a thread, from its first session record."""
    payload = record.payload
    base, git = object_field(payload, "history_base"), object_field(payload, "git")
    base_thread, forked_from = text_field(base, "thread_id"), text_field(payload, "forked_from_id")
    subagent = object_field(payload, "source").get("subagent")
    spawn = object_field(subagent, "thread_spawn") if isinstance(subagent, dict) else {}
    parent = text_field(spawn, "parent_thread_id") or text_field(payload, "parent_thread_id")
    agent = _agent_name(payload, subagent, spawn)
    thread = text_field(payload, "id") or text_field(payload, "session_id") or sha256(first_line).hexdigest()
    named = _FILE_NAME.fullmatch(os.path.basename(path))
    page = named[2] if named and named[1] == thread else None
    if page is None and base_thread is not None and (base_thread == thread or (forked_from or parent) is None):
        page = sha256(first_line).hexdigest()[:16]  # it continues an earlier file of its own thread
    spawner = {"thread": parent, "path": text_field(spawn, "agent_path"), "role": text_field(spawn, "agent_role")}
    details = {
        "agent": agent,
        "version": text_field(payload, "cli_version"),
        "originator": text_field(payload, "originator"),
        "forked_from": forked_from,
        "commit": text_field(git, "commit_hash"),
        "repository": text_field(git, "repository_url"),
        "end_byte_offset": _offset(base.get("end_byte_offset")),
        "end_ordinal": _offset(base.get("end_ordinal_exclusive")),
        "line": None if page is None else "page",
    }
    return Session(
        format=NAME,
        native_id=thread,
        sub_file=page,
        created=text_field(payload, "timestamp") or record.time,
        cwd=text_field(payload, "cwd"),
        base=base_thread or forked_from or parent,
        spawned_by={name: value for name, value in spawner.items() if value is not None} if agent else None,
        details={name: value for name, value in details.items() if value is not None},
    )


def _agent_name(payload: Mapping[str, Any], subagent: object, spawn: Mapping[str, Any]) -> str | None:
    """Return the name of a sub-agent: its nickname, its role, or its purpose; None if the thread is not a sub-agent."""
    names = [text_field(found, name) for name in ("agent_nickname", "agent_role") for found in (spawn, payload)]
    if isinstance(subagent, str):
        names.append(subagent)
    if subagent is not None or text_field(payload, "thread_source") == "subagent":
        names.append("agent")
    return next(filter(None, names), None)


def _offset(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


class _ForkCopies:
    """Finds the records of a fork that are copies of its parent's.

    A fork of the older kind begins with its own session record, its parent's, and all records of the parent, with a new
    time. The copies end at the first record of the thread itself: its own session record again, a record that names the
    thread, or a turn that is not older than the thread (UUIDv7 ids begin with their time). If no turn has such an id,
    the copies end at the first pause.
    """

    def __init__(self, thread: str) -> None:
        self._thread = thread
        self._created = _time_of_id(thread)
        self._has_turn_time = False
        self._last: int | None = None
        self._copying = False
        self.ended_by_spawn = False  # the copies ended with the result of the call that started this sub-agent

    def is_copy(self, record: _Rollout) -> bool:
        """Read the next record; return True if it is a copy."""
        if record.kind == _SESSION:
            self._copying = text_field(record.payload, "id") != self._thread
            self._last = parse_time(record.time or "")
        elif self._copying:
            self._copying = not (self._is_own(record) or self._is_after_pause(record))
        return self._copying

    def _is_own(self, record: _Rollout) -> bool:
        """Return True if a record can only be the thread's own."""
        payload = record.payload
        if record.kind in {_EVENT, _USAGE} and text_field(payload, "thread_id") == self._thread:
            return True
        if record.kind == _TURN or record.type == "task_started":
            turn_time = _time_of_id(text_field(payload, "turn_id") or "")
            self._has_turn_time = self._has_turn_time or turn_time is not None
            return self._created is not None and turn_time is not None and turn_time >= self._created
        if record.type == "function_call_output":
            self.ended_by_spawn = (text_field(payload, "output") or "").startswith(_SPAWNED)
            return self.ended_by_spawn
        return False

    def _is_after_pause(self, record: _Rollout) -> bool:
        now = parse_time(record.time or "")
        paused = self._last is not None and now is not None and now - self._last > _PAUSE
        self._last = now if now is not None else self._last
        return paused and not (self._has_turn_time and self._created is not None)


def _time_of_id(name: str) -> int | None:
    """Return the time in a UUIDv7, in milliseconds since 1970; None for other ids."""
    found = _TIMED_ID.fullmatch(name)
    return int(found[1] + found[2], 16) if found else None


class _Pending(NamedTuple):
    """A tool call without a result yet: the key of its answer, and reports about it."""

    answer: str
    call: Part
    reports: list[ToolReport]


@dataclass(slots=True, kw_only=True)
class _Open(OpenMessage):
    """A message that later records may still add to.

    copied: it is a fork's copy of its parent's message
    results: the place of each result among the parts, by call id
    calls: the calls of the results, by place
    reads: the files that the calls read, by place
    """

    copied: bool
    results: dict[str, int] = field(default_factory=dict)
    calls: dict[int, Part] = field(default_factory=dict)
    reads: dict[int, tuple[FileTouch, ...]] = field(default_factory=dict)

    def add_report(self, report: ToolReport) -> None:
        """Add a report to a result that the message has."""
        place = self.results[report.call_id]
        self.parts[place] = Part("tool_result", {**self.parts[place].fields, **report.fields})
        self.reads[place] = report.files or self.reads.get(place, ())
        self.spans[report.span] = None

    def events(self) -> Iterator[Event]:
        """Yield the finished message, and reports of unknown parts."""
        for place, call in self.calls.items():
            part = self.parts[place]
            self.tools[str(call.fields.get("name"))] = None
            if part.fields.get("is_error") is not True:
                self.files |= dict.fromkeys(self.reads.get(place) or touches_of_call(call, part))
        draft = self.draft()
        yield from report_unknown_parts(draft._replace(precision=COPIED) if self.copied and draft.time else draft)


class _Reader:
    """Turns the records of one rollout into events."""

    def __init__(self, head: Sequence[_Rollout], path: str, first_line: bytes) -> None:
        """`head` has the first records; without any id, a hash of `first_line` identifies the session."""
        record = next((each for each in head if each.kind == _SESSION), None)
        if record is None:
            named = _FILE_NAME.fullmatch(os.path.basename(path))
            created = next((each.time for each in head if each.time), None)
            thread = named[1] if named else sha256(first_line).hexdigest()
            self.session = Session(format=NAME, native_id=thread, created=created)
        else:
            self.session = _read_session(record, path, first_line)
        self._agent: str | None = self.session.details.get("agent")
        self._git_branch = None if record is None else text_field(object_field(record.payload, "git"), "branch")
        self._copies = _ForkCopies(self.session.native_id)
        self._copying = False
        self._cwd = self.session.cwd
        self._model: str | None = None
        self._title: str | None = None
        self._ready: list[Event] = []
        self._open: _Open | None = None
        self._awaiting: _Open | None = None  # an answer without usage, open beside the results that follow it
        self._parent: str | None = None
        self._latest: str | None = None
        self._turns: list[str | None] = []  # parent of each prompt
        self._answer_done = False  # the next answer item begins a new answer
        self._pending: dict[str, _Pending] = {}
        self._counter = UsageCounter()
        self._lacks_usage = False  # the last answer has no usage yet
        self._early: Mapping[str, Any] | None = None  # usage before the first item of its answer
        self._early_spans: list[ByteRange] = []

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        parsed = _parse_record(record)
        if parsed is None:
            yield Unparsed(spans=(record.span,), reason=record.problem or "not a record of a rollout")
            return
        self._copying = self._copies.is_copy(parsed)
        match parsed.kind:
            case "response_item":
                self._read_item(parsed)
            case "event_msg":
                self._read_event(parsed)
            case "turn_context":
                self._model = text_field(parsed.payload, "model") or self._model
                self._cwd = text_field(parsed.payload, "cwd") or self._cwd
                self._answer_done = True
                self._add_state(parsed)
            case "compacted":
                text = text_field(parsed.payload, "message")
                parts = [] if text is None else [Part("text", {"text": text})]
                if "replacement_history" in parsed.payload:
                    parts.append(Part("raw", {"json": parsed.payload["replacement_history"]}))
                self._begin(parsed, _HARNESS, _COMPACTION, tuple(parts))
            case "token_usage_record":
                self._add_usage(parsed, self._counter.read_record(parsed.payload))
            case "inter_agent_communication":
                self._read_communication(parsed)
            case _:
                self._add_state(parsed)
        yield from self._take_ready()

    def finish(self) -> Iterator[Event]:
        """Close the last message and yield the Ending. That message is open, and an answer that awaits its usage."""
        for report in (report for pending in self._pending.values() for report in pending.reports):
            self._ready.append(SessionRecord(report.key, (report.span,)))
        if self._early_spans:
            self._ready.append(SessionRecord("event_msg/token_count", tuple(self._early_spans)))
        first = self._latest if self._awaiting is None else self._awaiting.key
        self._close()
        yield from self._take_ready()
        yield Ending(active=self._parent, title=self._title, open=first)

    def _take_ready(self) -> list[Event]:
        ready, self._ready = self._ready, []
        return ready

    def _read_item(self, record: _Rollout) -> None:
        parts = read_answer_item(record.payload)
        if parts is not None:
            self._read_answer(record, parts)
        elif record.type in OUTPUTS:
            self._read_output(record)
        elif record.type in COMPACTIONS:
            self._begin(record, _HARNESS, _COMPACTION, (Part("raw", {"json": record.payload}),))
        elif record.type == "agent_message":
            self._read_communication(record)
        elif record.type == "message":
            self._read_message(record)
        else:
            self._add_state(record)

    def _read_answer(self, record: _Rollout, parts: tuple[Part, ...]) -> None:
        found = None if self._answer_done else self._continued(ANSWER)
        if found is not None:
            self._add(found, record, parts)
        else:
            author = Author((None if self._copying else self._agent) or NAME, "agent")
            summary = record.metadata.get("compaction_output") is True
            found = self._begin(record, author, _SUMMARY if summary else ANSWER, parts)
            found.model = self._model
            self._answer_done = False
            self._lacks_usage = self._early is None and not self._copying
            if self._early is not None:
                found.usage, self._early = self._early, None
                found.spans |= dict.fromkeys(self._early_spans)
                self._early_spans = []
        for part in parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call" and call_id is not None:
                self._pending.setdefault(call_id, _Pending(found.key, part, []))

    def _read_output(self, record: _Rollout) -> None:
        fields = read_result(record.payload)
        call_id = fields.get("call_id", "")
        pending = self._pending.pop(call_id, None)
        found = self._continued(RESULTS)
        if found is None:
            answer = self._open if self._lacks_usage else None
            if answer is not None and answer.kind in _MODEL_KINDS:
                self._open = None
            else:
                answer = None
            found = self._begin(record, TOOL, RESULTS)
            self._awaiting = answer
            found.reply_to = pending.answer if pending else None
            if self.session.spawned_by is not None and call_id and self._copies.ended_by_spawn:
                self._copies.ended_by_spawn = False
                found.spawned_by = {**self.session.spawned_by, "call_id": call_id}
        else:
            self._add(found, record)
        place = len(found.parts)
        found.parts.append(Part("tool_result", fields))
        if call_id:
            found.results[call_id] = place
        if pending is not None:
            found.calls[place] = pending.call
            for report in pending.reports:
                found.add_report(report)

    def _read_message(self, record: _Rollout) -> None:
        spawned = self._agent is not None and not self._copying
        author = identify_author(record.payload, spawned=spawned)
        if author is None:
            self._reject(record, "a message without a role")
            return
        if author.kind == _INTERRUPT:
            self._interrupt()
        if author.kind == PROMPT:
            self._turns.append(self._parent)
        content = tuple(read_content(record.payload.get("content")))
        self._begin(record, author.author, author.kind, content).status = author.status

    def _read_communication(self, record: _Rollout) -> None:
        """Read a message from one agent to another."""
        author = Author(text_field(record.payload, "author") or NAME, "agent")
        found = self._begin(record, author, PROMPT, tuple(read_content(record.payload.get("content"))))
        recipient = text_field(record.payload, "recipient")
        found.extra = {} if recipient is None else {"recipient": recipient}

    def _read_event(self, record: _Rollout) -> None:
        self._answer_done = self._answer_done or record.type in _TURN_EVENTS
        match record.type:
            case "token_count":
                info = record.payload.get("info")
                if info is not None and not is_total(info):
                    self._reject(record, "a usage that cannot be read")
                else:
                    self._add_usage(record, None if info is None else self._counter.read_total(info))
            case "turn_aborted":
                self._read_abort(record)
            case "error" | "task_complete":
                self._read_error(record)
            case "thread_rolled_back":
                self._roll_back(record.payload.get("num_turns"))
                self._add_state(record)
            case "thread_name_updated":
                if text_field(record.payload, "thread_id") in {None, self.session.native_id}:
                    self._title = text_field(record.payload, "thread_name") or self._title
                self._add_state(record)
            case _:
                self._read_report(record)

    def _read_report(self, record: _Rollout) -> None:
        """Add a report to its call, or to the result of its call if that is open; otherwise it is a state."""
        report = read_report(record.payload, record.key, record.span)
        if report is not None and report.call_id in self._pending:
            self._pending[report.call_id].reports.append(report)
        elif report is not None and self._open is not None and report.call_id in self._open.results:
            self._open.add_report(report)
        else:
            self._add_state(record)

    def _add_usage(self, record: _Rollout, usage: Mapping[str, Any] | None) -> None:
        """Give usage to its answer: most versions write it after the answer, some after its results, or before it."""
        found = self._awaiting or self._open
        if usage is None or self._copying:
            self._add_state(record)
        elif found is not None and found.kind in _MODEL_KINDS:
            found.usage = sum_usage(found.usage, usage)
            found.spans[record.span] = None
            self._close_answer()
            self._lacks_usage = False
            self._answer_done = True
        else:
            self._early = sum_usage(self._early, usage)
            self._early_spans.append(record.span)

    def _interrupt(self) -> None:
        """Mark the open answer as interrupted."""
        if self._open is not None and self._open.kind == ANSWER:
            self._open.status = "interrupted"

    def _read_abort(self, record: _Rollout) -> None:
        self._interrupt()
        found = self._continued(_INTERRUPT)
        if found is not None:
            self._add(found, record)
            return
        reason = text_field(record.payload, "reason")
        parts = () if reason is None else (Part("text", {"text": reason}),)
        self._begin(record, _HARNESS, _INTERRUPT, parts).status = "interrupted"

    def _read_error(self, record: _Rollout) -> None:
        error = record.payload if record.type == "error" else object_field(record.payload, "error")
        text = text_field(error, "message")
        found = self._continued(ERROR)
        if text is None and record.type == "error":
            self._reject(record, "an error without a text")
        elif text is None:
            self._add_state(record)
        elif found is not None and [part.text for part in found.parts] == [text]:
            self._add(found, record)
        else:
            self._begin(record, _HARNESS, ERROR, (Part("text", {"text": text}),)).status = "error"

    def _roll_back(self, count: object) -> None:
        """Go back a number of turns: the next message follows the one before them."""
        self._close()
        if type(count) is int and count > 0 and self._turns:
            first = max(0, len(self._turns) - count)
            self._parent = self._turns[first]
            del self._turns[first:]

    def _begin(self, record: _Rollout, author: Author, kind: str, parts: tuple[Part, ...] = ()) -> _Open:
        """Close the open message and begin a new one with a record."""
        self._close()
        found = self._open = _Open(
            key=str(record.span.offset),
            parent=self._parent,
            author=author,
            kind=kind,
            copied=self._copying,
            time=record.time,
            cwd=self._cwd,
            git_branch=self._git_branch,
            context_root=kind == _COMPACTION,
        )
        self._parent = self._latest = found.key
        self._add(found, record, parts)
        return found

    def _add(self, found: _Open, record: _Rollout, parts: tuple[Part, ...] = ()) -> None:
        found.spans[record.span] = None
        found.parts += parts
        if record.kind == _ITEM:
            found.add_ids(text_field(record.payload, "id"))

    def _continued(self, kind: str) -> _Open | None:
        """Return the open message if the current record may continue it: same kind, both copies or both not."""
        found = self._open
        return found if found is not None and (found.kind, found.copied) == (kind, self._copying) else None

    def _close_answer(self) -> None:
        """Close the answer that awaited its usage."""
        if self._awaiting is not None:
            self._ready += self._awaiting.events()
            self._awaiting = None

    def _close(self) -> None:
        """Close the open message."""
        self._close_answer()
        if self._open is not None:
            self._ready += self._open.events()
            self._open = None

    def _add_state(self, record: _Rollout) -> None:
        """Add a record that belongs to no message, as a state if its type is known."""
        if record.kind == _ITEM:
            known = record.type in _ITEM_STATES
        elif record.kind == _EVENT:
            known = record.type != ""  # what a version adds for its user interface is in no history of a model
        else:
            known = record.kind in _KNOWN or record.kind == _SEPARATOR
        if known:
            self._ready.append(SessionRecord(record.key, (record.span,)))
        else:
            self._reject(record, "a record of unknown type")

    def _reject(self, record: _Rollout, reason: str) -> None:
        self._ready.append(Unparsed(spans=(record.span,), reason=f"{reason}: {record.key!a}"))
