"""The format of llm's conversations: rows of `logs.db`, of both of its schemas.

Until 0.31 it has responses, since 0.32 messages that name their parents by hash, and the turns that added them. An
upgraded database has both, and a conversation is in one of them. A response is the prompt and the answer in one row; it
becomes lines for the system prompt, the prompt and the rest, so that every line belongs to one message.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scopes.clock import parse_time
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders
from scopes.importers.formats.collection import (
    SEPARATOR,
    Conversation,
    Row,
    begins_with_row,
    encode_row,
    read_row,
)
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import call_id_of, count_field, object_field, text_field, time_of_milliseconds
from scopes.importers.formats.records import Record, decode_object, walk_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    PROMPT,
    RESULTS,
    TOOL,
    ParentLinks,
    RunBuilder,
)
from scopes.model.message import Author, Part

if TYPE_CHECKING:
    from scopes.importers.formats.database import Database

NAME = "llm"
RESPONSES = MappingProxyType({
    "conversations": ("id", "name", "model"),
    "responses": ("id", "model", "prompt", "response", "conversation_id"),
})  # fmt: skip
MESSAGES = MappingProxyType({
    "threads": ("id", "tip_message_hash"),
    "turns": ("id", "thread_id", "tip_message_hash"),
    "messages": ("hash", "parent_hash", "role"),
    "parts": ("message_hash", "position", "type"),
})  # fmt: skip
_AGENT = Author(NAME, "agent")
_SYSTEM = "system"
_SPEAKERS = {_SYSTEM: INJECTED, RESULTS: TOOL, PROMPT: HUMAN}
_ROLES = {
    "system": (INJECTED, _SYSTEM),
    "user": (HUMAN, PROMPT),
    "tool": (TOOL, RESULTS),
    "assistant": (_AGENT, ANSWER),
}
_OF_PROMPT = ("prompt", "prompt_json")  # columns of a response
_WITH_RESULTS = frozenset({"tool_results", "tool_results_attachments"})
_FOR_PROMPT = frozenset({"prompt_fragments", "prompt_attachments", "system_fragments"})
_OF_MESSAGE = frozenset({"parts", "part_fragments", "part_attachments", "fragments", "attachments"})
_STATES = frozenset({"threads", "turn_fragments", "turn_tools", "fragments"})
_DIGITS = {digit: value for value, digit in enumerate("0123456789abcdefghjkmnpqrstvwxyz")}  # of a ULID
_ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_TIME_DIGITS = 10
_ULID_DIGITS = 26
_MAX_DEPTH = 100_000  # messages before one


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a conversation, which is one of many in the database."""
    return f"{top}{SEPARATOR}{session}" if os.path.isfile(top) else None


class Llm(Format):
    """llm since 0.5: the command-line program by Simon Willison."""

    name = NAME
    file_suffixes = (".db", ".jsonl")
    standard_folders = StandardFolders(AGENTS[NAME], ("logs.db",), _find_session)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return begins_with_row(head, ("conversations", "responses", "threads"))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        reader: _ResponseReader | _ThreadReader | None = None
        with source.open() as stream:
            for record in walk_records(stream, source.size):
                row = read_row(record.value)
                if reader is None:
                    is_thread = row is not None and row.table == "threads"
                    reader = (_ThreadReader if is_thread else _ResponseReader)({} if row is None else row.columns)
                    yield reader.session
                yield from reader.read(record, row)
        yield from (reader or _ResponseReader({})).finish()


class LlmDatabase:
    """`logs.db` of llm."""

    format = NAME
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (RESPONSES, MESSAGES)

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield old conversations, responses that belong to none, then threads, each in the order of their ids."""
        if database.has(RESPONSES):
            yield from _walk_old(database)
        if database.has(MESSAGES):
            database.add_index("turns", "thread_id")
            for thread in list(database.walk("threads", order=("id",))):
                if isinstance(name := thread["id"], str):
                    messages: set[str] = set()
                    yield Conversation(name, _walk_thread(database, thread, messages), messages)


def _walk_old(database: Database) -> Iterator[Conversation]:
    for table in ("tool_calls", "tool_results", "prompt_attachments", "prompt_fragments", "system_fragments"):
        database.add_index(table, "response_id")
    database.add_index("responses", "conversation_id")
    database.add_index("attachments", "id")
    named = {row["id"]: [encode_row("conversations", row)] for row in database.walk("conversations", order=("id",))}
    found = {row["conversation_id"] for row in database.walk("responses")} - {None, *named}
    for name, head in [
        *named.items(),
        *((name, []) for name in sorted(each for each in found if isinstance(each, str))),
    ]:
        if isinstance(name, str):
            messages: set[str] = set()
            yield Conversation(name, _walk_responses(database, name, head, messages), messages)
    for row in list(database.walk("responses", "conversation_id", None, order=("id",))):
        yield Conversation(str(row["id"]), _walk_response(database, row), {str(row["id"])})


def _walk_responses(database: Database, name: str, head: list[bytes], messages: set[str]) -> Iterator[bytes]:
    yield from head
    for row in database.walk("responses", "conversation_id", name, order=("id",)):
        messages.add(str(row["id"]))
        yield from _walk_response(database, row)


def _walk_response(database: Database, row: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the lines of a response: the results of tools that it was given, its prompts, and what the model said."""
    name = row["id"]
    names = {"id": name, "conversation_id": row["conversation_id"]}
    if row.get("system") is not None:
        yield encode_row("responses", {**names, "system": row["system"]})
    yield from _walk_fragments(database, "system_fragments", "response_id", name)
    for result in database.walk("tool_results", "response_id", name, order=("id",)):
        yield encode_row("tool_results", result)
        yield from _walk_attachments(database, "tool_results_attachments", "tool_result_id", result["id"])
    yield encode_row("responses", {**names, **{column: row[column] for column in _OF_PROMPT if column in row}})
    yield from _walk_fragments(database, "prompt_fragments", "response_id", name)
    yield from _walk_attachments(database, "prompt_attachments", "response_id", name)
    left_out = {"system", *_OF_PROMPT}
    yield encode_row("responses", {column: value for column, value in row.items() if column not in left_out})
    for call in database.walk("tool_calls", "response_id", name, order=("id",)):
        yield encode_row("tool_calls", call)


def _walk_thread(database: Database, thread: Mapping[str, Any], messages: set[str]) -> Iterator[bytes]:
    """Yield the thread, then each turn after the messages that are new in it."""
    yield encode_row("threads", thread)
    for turn in database.walk("turns", "thread_id", thread["id"], order=("id",)):
        yield from _walk_messages(database, turn["tip_message_hash"], messages)
        yield encode_row("turns", turn)
        yield from _walk_fragments(database, "turn_fragments", "turn_id", turn["id"])
        for row in database.walk("turn_tools", "turn_id", turn["id"], order=("tool_id",)):
            yield encode_row("turn_tools", row)
    yield from _walk_messages(database, thread["tip_message_hash"], messages)


def _walk_messages(database: Database, tip: object, known: set[str]) -> Iterator[bytes]:
    """Yield the messages up to one, oldest first, each with its parts; without those that are known."""
    line: list[dict[str, Any]] = []
    while isinstance(tip, str) and tip not in known and len(line) < _MAX_DEPTH:
        row = next(database.walk("messages", "hash", tip), None)
        if row is None:
            break
        known.add(tip)
        line.append(row)
        tip = row["parent_hash"]
    for row in reversed(line):
        yield encode_row("messages", row)
        for part in database.walk("parts", "message_hash", row["hash"], order=("position",)):
            yield encode_row("parts", part)
            yield from _walk_fragments(database, "part_fragments", "part_id", part.get("id"))
            yield from _walk_attachments(database, "part_attachments", "part_id", part.get("id"))


def _walk_fragments(database: Database, table: str, column: str, value: object) -> Iterator[bytes]:
    """Yield the rows of a table that names fragments, each with its fragment."""
    for row in database.walk(table, column, value, order=("order",)):
        yield encode_row(table, row)
        for fragment in database.walk("fragments", "id", row.get("fragment_id")):
            yield encode_row("fragments", fragment)


def _walk_attachments(database: Database, table: str, column: str, value: object) -> Iterator[bytes]:
    """Yield the rows of a table that names attachments, each with its attachment."""
    for row in database.walk(table, column, value, order=("order",)):
        yield encode_row(table, row)
        for attachment in database.walk("attachments", "id", row.get("attachment_id")):
            yield encode_row("attachments", attachment)


class _ResponseReader:
    """Turns the rows of a conversation until 0.31 into events. What comes before an answer has its time."""

    def __init__(self, first: Mapping[str, Any]) -> None:
        self._builder = RunBuilder(is_stream=False)
        self._held: dict[str, tuple[list[Record], list[Part]]] = {}  # what comes before an answer, by kind
        self._kind = PROMPT  # of the message that a fragment or an attachment belongs to
        self._title = text_field(first, "name")
        name = text_field(first, "conversation_id") or text_field(first, "id") or "unknown"
        self.session = Session(format=NAME, native_id=name, created=_time_of_ulid(name), title=self._title)

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        if row is None:
            self._builder.reject(record, "not a row")
        elif row.table == "conversations":
            self._builder.add_state(record, "conversations")
        elif row.table == "responses":
            self._read_response(record, row.columns)
        elif row.table == "tool_calls" and self._builder.continues(ANSWER) is not None:
            arguments = decode_object(row.columns.get("arguments"))
            self._builder.add(record, [_read_call(row.columns, arguments)])
        elif row.table in _WITH_RESULTS:
            self._kind = RESULTS
            self._hold(record, _read_result(row.columns) if row.table == "tool_results" else None)
        elif row.table in _FOR_PROMPT:
            self._kind = _SYSTEM if row.table.startswith(_SYSTEM) else PROMPT
            self._hold(record)
        elif row.table == "fragments":
            self._hold(record, _text(row.columns.get("content")), first=True)
        elif row.table == "attachments":
            self._hold(record, _read_attachment(row.columns))
        else:
            self._builder.reject(record, f"a row of {row.table}")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        self._begin_held(None, None)
        yield from self._builder.finish(title=self._title)

    def _read_response(self, record: Record, columns: Mapping[str, Any]) -> None:
        if "response" not in columns:
            self._kind = _SYSTEM if _SYSTEM in columns else PROMPT
            self._hold(record, _text(columns.get("system") or columns.get("prompt")))
            return
        name, time = text_field(columns, "id"), _read_time(columns)
        self._begin_held(name, time)
        reasoning = text_field(columns, "reasoning")
        parts = [] if reasoning is None else [Part("reasoning", {"text": reasoning})]
        text = _text(columns.get("response"))
        found = self._builder.begin(record, _AGENT, ANSWER, parts if text is None else [*parts, text], time=time)
        found.add_ids(name)
        found.model = text_field(columns, "resolved_model") or text_field(columns, "model")
        found.usage = _read_usage(columns)

    def _hold(self, record: Record, part: Part | None = None, *, first: bool = False) -> None:
        records, parts = self._held.setdefault(self._kind, ([], []))
        records.append(record)
        if part is not None:
            parts.insert(0 if first else len(parts), part)

    def _begin_held(self, name: str | None, time: str | None) -> None:
        """Begin the messages before an answer; an empty prompt belongs to the results that were given to the model."""
        for kind in (_SYSTEM, RESULTS, PROMPT):
            records, parts = self._held.pop(kind, ([], []))
            if records and parts:
                found = self._builder.begin(records[0], _SPEAKERS[kind], kind, parts, time=time)
                found.add_ids(name)
            for record in records[1:] if parts else records:
                if parts or self._builder.continues(RESULTS) is not None:
                    self._builder.add(record)
                else:
                    self._builder.add_state(record, kind)


@dataclass(slots=True)
class _Message:
    """A message of a thread whose turn follows."""

    columns: Mapping[str, Any]
    records: list[Record]
    parts: list[Part] = field(default_factory=list)


class _ThreadReader:
    """Turns the rows of a thread since 0.32 into events."""

    def __init__(self, first: Mapping[str, Any]) -> None:
        self._builder = RunBuilder(is_stream=False)
        self._links = ParentLinks()
        self._held: list[_Message] = []
        self._tip = text_field(first, "tip_message_hash")
        self._title = text_field(first, "name")
        name = text_field(first, "id") or "unknown"
        self.session = Session(
            format=NAME,
            native_id=name,
            created=_time_of_ulid(name) or _read_time(first),
            title=self._title,
            base=text_field(first, "forked_from"),
        )

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        if row is None:
            self._builder.reject(record, "not a row")
        elif row.table == "messages" and row.columns.get("role") in _ROLES:
            self._held.append(_Message(row.columns, [record]))
        elif row.table == "turns":
            self._read_turn(record, row.columns)
        elif self._held and row.table in _OF_MESSAGE:
            self._held[-1].records.append(record)
            self._held[-1].parts += _read_part(row)
        elif row.table in _STATES:
            self._builder.add_state(record, row.table)
        else:
            self._builder.reject(record, f"a row of {row.table} that belongs to no message")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last messages and the Ending; the thread is at its tip."""
        self._begin_held(None)
        yield from self._builder.finish(title=self._title, active=self._links.find(self._tip))

    def _read_turn(self, record: Record, columns: Mapping[str, Any]) -> None:
        """Begin the messages of a turn; its counts and its model are those of the last one."""
        is_new = bool(self._held) and self._held[-1].columns.get("hash") == columns.get("tip_message_hash")
        self._begin_held(_read_time(columns))
        found = self._builder.continues(ANSWER)
        if not is_new or found is None:
            self._builder.add_state(record, "turns")
            return
        self._builder.add(record)
        found.model = text_field(columns, "resolved_model") or text_field(columns, "model")
        found.usage = _read_usage(columns)
        found.add_ids(text_field(columns, "id"))

    def _begin_held(self, time: str | None) -> None:
        for message in self._held:
            author, kind = _ROLES[message.columns["role"]]
            found = self._builder.begin(message.records[0], author, kind, message.parts, time=time)
            found.parent = self._links.find(text_field(message.columns, "parent_hash"))
            for record in message.records[1:]:
                self._builder.add(record)
            name = text_field(message.columns, "hash")
            found.add_ids(name)
            self._links.add(name, found.key)
        self._held = []


def _read_part(row: Row) -> Iterator[Part]:
    """Convert a row of a message; what a part without text and payload has is in a fragment or an attachment."""
    columns = row.columns
    fields = decode_object(columns.get("payload")) or {}
    text = text_field(columns, "text")
    match row.table, columns.get("type"):
        case "attachments", _:
            yield _read_attachment(columns)
        case "fragments", _:
            yield Part("text", {"text": text_field(columns, "content") or ""})
        case "parts", "text" | "reasoning" as kind if text is not None:
            yield Part(str(kind), {"text": text})
        case "parts", "text" | "reasoning" if columns.get("payload") is None:
            return
        case "parts", "attachment":
            return
        case "parts", "tool_call" if fields:
            yield _read_call(fields, fields.get("arguments"))
        case "parts", "tool_result" if fields:
            yield _read_result(fields)
        case "parts", kind:
            known = {name: value for name, value in columns.items() if isinstance(value, str | int)}
            yield Part("raw", {"json": {**known, "type": kind if isinstance(kind, str) else None}})


def _read_call(row: Mapping[str, Any], arguments: object) -> Part:
    name = text_field(row, "name") or "tool"
    return Part("tool_call", {**call_id_of(row, "tool_call_id"), "name": name, "input": arguments})


def _read_result(row: Mapping[str, Any]) -> Part:
    exception = text_field(row, "exception")
    failed = {} if exception is None else {"is_error": True, "structured": {"exception": exception}}
    return Part("tool_result", {**call_id_of(row, "tool_call_id"), "output": row.get("output"), **failed})


def _read_attachment(row: Mapping[str, Any]) -> Part:
    """Convert an attachment: its content, or where it is."""
    media = text_field(row, "type")
    kind = "image" if media is not None and media.startswith("image/") else "file"
    fields: dict[str, Any] = {} if media is None else {"media_type": media}
    content, place = row.get("content"), text_field(row, "path") or text_field(row, "url")
    if isinstance(content, bytes):
        return Part(kind, {**fields, "data": b64encode(content).decode("ascii")})
    return Part(kind, fields if place is None else {**fields, "path": place})


def _text(value: object) -> Part | None:
    """Return a text as a part; None if it is empty. Text that is not UTF-8 is kept raw."""
    if isinstance(value, bytes):
        return Part("raw", {"json": {"bytes": value.hex()}})
    return Part("text", {"text": value}) if isinstance(value, str) and value else None


def _read_time(row: Mapping[str, Any]) -> str | None:
    """Return the time of a row in RFC 3339; it is UTC, in older versions without saying so."""
    text = (text_field(row, "datetime_utc") or "").replace(" ", "T", 1)
    time = text if _ZONE.search(text) else f"{text}Z"
    return time if parse_time(time) is not None else None


def _time_of_ulid(name: str) -> str | None:
    """Return the time in an id that is a ULID; None if it is another id."""
    digits = [_DIGITS.get(digit) for digit in name.lower()[:_TIME_DIGITS]]
    if len(name) != _ULID_DIGITS or None in digits:
        return None
    milliseconds = 0
    for digit in digits:
        milliseconds = milliseconds << 5 | (digit or 0)
    return time_of_milliseconds(milliseconds)


def _read_usage(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of a response or a turn. Its input count includes cached tokens."""
    details = decode_object(row.get("token_details")) or {}
    given, output = count_field(row, "input_tokens"), count_field(row, "output_tokens")
    if given is None and output is None:
        return None
    cached = min(given or 0, count_field(object_field(details, "prompt_tokens_details"), "cached_tokens") or 0)
    reasoning = count_field(object_field(details, "completion_tokens_details"), "reasoning_tokens")
    counts = {"input_uncached": (given or 0) - cached, "cache_read": cached, "output": output or 0}
    raw = {"input_tokens": row.get("input_tokens"), "output_tokens": row.get("output_tokens")}
    return {
        **counts,
        **({} if reasoning is None else {"reasoning": reasoning}),
        "raw": {**raw, **({"token_details": details} if details else {})},
    }
