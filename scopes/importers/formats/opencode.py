"""The OpenCode format: its database or folder, what `opencode run --format json` prints, what `opencode export` writes.

OpenCode keeps its sessions in a database since 1.2 (`session`, `message`, `part`), since 2.0 in other tables of it
(`session_v2`, `session_message`), and before 1.2 in a folder with a file for each record. All become the same kind of
source: the session, its messages each followed by its parts, then what else belongs to the session. `session_share` is
left out: it holds the secret with which a published session is changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scopes.hosts.agents import Agent
from scopes.importers.formats.base import Format, Source, StandardFolders, find_below, list_entries
from scopes.importers.formats.collection import (
    SEPARATOR,
    Conversation,
    Row,
    begins_with_row,
    encode_row,
    read_row,
    walk_file,
)
from scopes.importers.formats.documents import ObjectList, Shape, read_in_order, walk_sessions
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import (
    call_id_of,
    count_field,
    list_field,
    number_field,
    object_field,
    output_of,
    short_word,
    text_field,
    time_of_milliseconds,
)
from scopes.importers.formats.records import Record, decode_object, first_records, name_stream, walk_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    OpenMessage,
    RunBuilder,
    read_beginning,
    walk_runs,
)
from scopes.model.message import Author, Part

if TYPE_CHECKING:
    from scopes.importers.formats.database import Database

NAME = "opencode"
_DATA = Agent(NAME, "OpenCode", None, ".local/share/opencode", "XDG_DATA_HOME", "opencode")
_AGENT, _HARNESS = Author(NAME, "agent"), Author(NAME, "system")
_COMPACTION = "compaction"
_EVENTS = frozenset({"text", "reasoning", "tool_use", "step_start", "step_finish", "error"})
_NO_CONTENT = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", _COMPACTION})
_USAGE = {"input_uncached": "input", "output": "output", "reasoning": "reasoning"}
_CACHE = {"cache_read": "read", "cache_write": "write"}
_EXPORT = re.compile(rb'(?:[^{\n]*\n)?\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_')
_OLD_TABLES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "session": ("id", "directory", "title"), "message": ("id", "session_id", "data"),
    "part": ("id", "message_id", "data"),
})  # fmt: skip
_NEW_TABLES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "session_v2": ("id", "directory", "title"), "session_message": ("id", "session_id", "type", "data"),
})  # fmt: skip
_OTHERS = (  # tables with rows of a session, the column with its id, and what they are sorted by
    ("todo", "session_id", ("position",)),
    ("session_context_epoch", "session_id", ("baseline_seq",)),
    ("session_input", "session_id", ("admitted_seq",)),
    ("session_message", "session_id", ("seq",)),
    ("event_sequence", "aggregate_id", ("seq",)),
    ("event", "aggregate_id", ("seq", "id")),
)
_SESSION_FILES = ("todo", "session_diff")  # subfolders with a file for each session
_SESSIONS = frozenset({"session", "session_v2"})
_STATES = frozenset({*_SESSIONS, *_SESSION_FILES, *(table for table, _, _ in _OTHERS)})
_STATE_TYPES = frozenset({"agent-switched", "model-switched"})  # of rows of `session_message` in a session of 2.0


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a session: it is one of many in the database, or else in the folder."""
    if os.path.isfile(top):
        return f"{top}{SEPARATOR}{session}"
    found = find_below(os.path.join(top, "session"), "", lambda name: name == f"{session}.json")
    return None if found is None else f"{top}{SEPARATOR}{session}"


class OpenCode(Format):
    """OpenCode 1 and 2."""

    name = NAME
    file_suffixes = (".json", ".jsonl", ".db")
    standard_folders = StandardFolders(_DATA, ("opencode.db", "storage"), _find_session)
    sub_agent_fields = ("sessionId",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if _is_session_row(head) or _EXPORT.match(head) is not None:
            return True
        return b'"sessionID"' in head and any(map(_is_event, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        head = read_beginning(source)
        if _is_session_row(head):
            yield from _walk_session_rows(source)
        elif _EXPORT.match(head) is not None:
            yield from walk_sessions(source, _SHAPE, NAME, lambda found: read_in_order(found, _ExportReader(found)))
        else:
            yield from walk_runs(source, _StreamReader(first_records(head)))


class OpenCodeDatabase:
    """`opencode.db`, since OpenCode 1.2."""

    format = NAME
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (_NEW_TABLES, _OLD_TABLES)

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield the sessions in the order of their ids, those of 2.0 first; one that both have is taken from those."""
        known: set[object] = set()
        if database.has(_NEW_TABLES):
            database.add_index("session_message", "session_id")
            for session in list(database.walk("session_v2", order=("id",))):
                known.add(session["id"])
                messages: set[str] = set()
                yield Conversation(
                    str(session["id"]), _walk_session(database, session, messages, is_new=True), messages
                )
        if database.has(_OLD_TABLES):
            database.add_index("message", "session_id")
            database.add_index("part", "message_id")
            for session in list(database.walk("session", order=("id",))):
                if isinstance(name := session["id"], str) and name not in known:
                    messages = set()
                    yield Conversation(name, _walk_session(database, session, messages, is_new=False), messages)


def _walk_session(
    database: Database, session: Mapping[str, object], messages: set[str], *, is_new: bool
) -> Iterator[bytes]:
    yield encode_row("session_v2" if is_new else "session", session)
    for message in () if is_new else database.walk("message", "session_id", session["id"], order=("id",)):
        messages.add(str(message["id"]))
        yield encode_row("message", message)
        for part in database.walk("part", "message_id", message["id"], order=("id",)):
            yield encode_row("part", part)
    for table, column, order in _OTHERS:
        for row in database.walk(table, column, session["id"], order=order):
            if is_new and table == "session_message":
                messages.add(str(row["id"]))
            yield encode_row(table, row)


class OpenCodeFolder:
    """The folder `storage`, before OpenCode 1.2."""

    format = NAME
    subfolders = frozenset({"session", "message", "part"})
    depth = 3

    def recognizes(self, folder: str) -> bool:
        """Return True if there are all subfolders."""
        return all(os.path.isdir(os.path.join(folder, name)) for name in self.subfolders)

    def explain_incomplete(self, folder: str) -> str | None:
        """Return None: nothing but its subfolders tells such a folder from others."""

    def walk_conversations(self, folder: str) -> Iterator[Conversation]:
        """Yield the sessions in the order of their ids."""
        projects = sorted(list_entries(os.path.join(folder, "session")), key=lambda entry: entry.name)
        files = [f"session/{project.name}/{name}" for project in projects for name in _names(project.path)]
        for path in sorted(files, key=lambda path: (os.path.basename(path), path)):
            messages: set[str] = set()
            yield Conversation(_stem(path), _walk_files(folder, path, messages), messages)


def _walk_files(folder: str, path: str, messages: set[str]) -> Iterator[bytes]:
    yield from walk_file(folder, path, path)
    session = _stem(path)
    for name in _names(os.path.join(folder, "message", session)):
        messages.add(_stem(name))
        yield from walk_file(folder, f"message/{session}/{name}", f"message/{session}/{name}")
        for part in _names(os.path.join(folder, "part", _stem(name))):
            yield from walk_file(folder, f"part/{_stem(name)}/{part}", f"part/{_stem(name)}/{part}")
    for subfolder in _SESSION_FILES:
        yield from walk_file(folder, f"{subfolder}/{session}.json", f"{subfolder}/{session}.json")


def _names(folder: str) -> list[str]:
    """Return the names of the JSON files in a folder that is no link, sorted."""
    if os.path.islink(folder):
        return []
    return sorted(entry.name for entry in list_entries(folder) if entry.name.endswith(".json"))


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".json")


def _is_session_row(head: bytes) -> bool:
    """Return True if a source begins with a session of OpenCode's database or folder."""
    if head.startswith(b'{"file":"session/'):
        return True
    return begins_with_row(head, _SESSIONS) and all(name in head for name in (b'"directory":', b'"id":', b'"slug":'))


def _walk_session_rows(source: Source) -> Iterator[Event]:
    """Yield the events of a session in a database or a folder."""
    reader: _RowReader | None = None
    with source.open() as stream:
        for record in walk_records(stream, source.size):
            table, document = _read_row(record)
            if reader is None:
                reader = _RowReader(document or {}, is_new=table == "session_v2")
                yield reader.session
            yield from reader.read(record, table, document)
    yield from (reader or _RowReader({}, is_new=False)).finish()


def _read_row(record: Record) -> tuple[str, dict[str, Any] | None]:
    """Return the table of a row, or the first folder of a file, and its document as the file of the record has it."""
    row = read_row(record.value) or Row("", {})
    columns = row.columns
    if "content" in columns and "/" in row.table:
        return row.table.partition("/")[0], decode_object(columns["content"])
    if row.table in _SESSIONS:
        times = {"created": columns.get("time_created"), "updated": columns.get("time_updated")}
        revert = decode_object(columns.get("revert"))
        return row.table, {**columns, "parentID": columns.get("parent_id"), "revert": revert, "time": times}
    if row.table not in {"message", "part", "session_message"}:
        return row.table, columns or None
    data = decode_object(columns.get("data"))
    known = {"id": columns.get("id"), "sessionID": columns.get("session_id")}
    if row.table == "session_message":
        known["row_type"] = columns.get("type")
    return row.table, None if data is None else {**data, **known}


class _RowReader:
    """Turns the rows or files of a session into events. A message of 1.x is held until its parts were read."""

    def __init__(self, info: Mapping[str, Any], *, is_new: bool) -> None:
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = text_field(info, "directory")
        self._is_new = is_new
        self._held: tuple[Record, dict[str, Any], list[tuple[Record, dict[str, Any]]]] | None = None
        self._reverted = object_field(info, "revert")
        self._last: str | None = None
        self._active: str | None = None  # the last message before those that were taken back
        self._title = text_field(info, "title")
        parent = text_field(info, "parentID")
        details = {"version": text_field(info, "version"), "agent": text_field(info, "agent") if parent else None}
        self.session = Session(
            format=NAME,
            native_id=text_field(info, "id") or "unknown",
            created=time_of_milliseconds(object_field(info, "time").get("created")),
            cwd=self._builder.cwd,
            title=self._title,
            base=parent or text_field(info, "fork_session_id"),
            spawned_by=None if parent is None else {"session": parent},
            details={name: value for name, value in details.items() if value is not None},
        )

    def read(self, record: Record, table: str, document: dict[str, Any] | None) -> Iterator[Event]:
        """Read the next line; yield the events that are complete."""
        if table == "part" and self._held is not None and document is not None:
            self._held[2].append((record, document))
            return
        self._finish_message()
        if self._is_new and table == "session_message" and document is not None:
            self._read_new_message(record, document)
        elif table in _STATES and (document is not None or table not in _SESSIONS):
            self._builder.add_state(record._replace(value=None), table)
        elif document is None:
            self._builder.reject(record, "not a row that can be read")
        elif table == "message" and document.get("role") in {"user", "assistant"}:
            self._held = record, document, []
        else:
            self._builder.reject(record, f"a row of {table} that belongs to no message")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        self._finish_message()
        yield from self._builder.finish(title=self._title, active=self._active)

    def _finish_message(self) -> None:
        if self._held is None:
            return
        record, info, parts = self._held
        self._held = None
        self._note_place(record, text_field(info, "id"))
        _add_message(self._builder, record, info, [part for _, part in parts])
        for each, _ in parts:
            self._builder.add(each)

    def _note_place(self, record: Record, name: str | None) -> None:
        """Remember the last message, and the one before those that were taken back."""
        if name is not None and name == self._reverted.get("messageID") and not self._reverted.get("partID"):
            self._active = self._last
        self._last = str(record.span.offset)

    def _read_new_message(self, record: Record, value: dict[str, Any]) -> None:
        """Read a message of OpenCode 2, which has its parts."""
        kind, name = text_field(value, "row_type"), text_field(value, "id")
        time = time_of_milliseconds(object_field(value, "time").get("created"))
        text = text_field(value, "text")
        parts = [] if text is None else [Part("text", {"text": text})]
        if kind in _STATE_TYPES:
            self._builder.add_state(record, str(kind))
            return
        if kind == "assistant":
            blocks = [part for part in list_field(value, "content") if isinstance(part, dict)]
            parts = [each for block in blocks for each in _read_part(block)]
            info = {**value, "modelID": object_field(value, "model").get("id")}
            _add_answer(self._builder, record, info, parts, time)
        elif kind == "user":
            parts += [_read_file(each) for each in list_field(value, "files") if isinstance(each, dict)]
            self._builder.begin(record, HUMAN, PROMPT, parts, time=time)
        elif kind in {"synthetic", "system"}:
            self._builder.begin(record, INJECTED, META if kind == "synthetic" else "system", parts, time=time)
        elif kind == _COMPACTION and text_field(value, "summary") is not None:
            summary = Part("text", {"text": value["summary"]})
            self._builder.begin(record, _AGENT, _COMPACTION, [summary], time=time).context_root = True
        else:
            self._builder.reject(record, f"a message of the type {short_word(value, 'row_type')}")
            return
        self._note_place(record, name)
        if self._builder.open is not None:
            self._builder.open.add_ids(name)


def _is_export(found: ObjectList) -> bool:
    return found.found and str(object_field(found.members, "info").get("id")).startswith("ses_")


_SHAPE = Shape(("messages",), _is_export)


class _ExportReader:
    """Turns the messages of an exported session into events."""

    def __init__(self, found: ObjectList) -> None:
        info = object_field(found.members, "info")
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = text_field(info, "directory")
        self._title = text_field(info, "title")
        self.session = Session(
            format=NAME,
            native_id=text_field(info, "id") or "unknown",
            created=time_of_milliseconds(object_field(info, "time").get("created")),
            cwd=self._builder.cwd,
            title=self._title,
            details={"version": version} if (version := text_field(info, "version")) else {},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next message; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        blocks = [part for part in list_field(value, "parts") if isinstance(part, dict)]
        _add_message(self._builder, record, object_field(value, "info"), blocks)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)


class _StreamReader:
    """Turns the records of one run into events; it has neither the prompt nor an end record."""

    def __init__(self, head: list[dict[str, Any]]) -> None:
        events = [value for value in head if _is_event(value)]
        self._id = text_field(events[0], "sessionID") if events else None
        self._builder = RunBuilder(is_stream=True)
        self._seen: set[str] = set()
        self._reason: str | None = None
        self._error: str | None = None
        self._cost: float | None = None
        self.session = Session(
            format=NAME,
            native_id=self._id or name_stream(head),
            sub_file=name_stream(events),
            created=time_of_milliseconds(events[0].get("timestamp")) if events else None,
            details={"line": STREAM},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins the run of another session."""
        return _is_event(value) and value["sessionID"] != self._id

    def next_run(self, value: dict[str, Any]) -> _StreamReader:
        """Return the reader of the session that a record begins."""
        return _StreamReader([value])

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        if not _is_event(value):
            self._builder.reject(record)
        elif value["type"] == "error":
            self._error = _error_text(value.get("error"))
            time = time_of_milliseconds(value.get("timestamp"))
            text = Part("text", {"text": self._error})
            self._builder.begin(record, _HARNESS, ERROR, [text], time=time).status = "error"
        else:
            self._read_part(record, value, value["part"])
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending; a stream that stops in the middle of a step has no end of its run."""
        end = None
        if self._error is not None:
            end = RunEnd("error", self._error, self._cost)
        elif self._reason == "stop":
            end = RunEnd("success", "", self._cost)
        yield from self._builder.finish(run_end=end)

    def _read_part(self, record: Record, value: Mapping[str, Any], part: dict[str, Any]) -> None:
        name, kind = text_field(part, "messageID"), value["type"]
        identity = text_field(part, "id") or str(record.number)
        parts = list(_read_part(part))
        repeated = identity in self._seen
        self._seen.add(identity)
        if kind == "step_start":
            self._reason = None
        if kind == "step_finish" and not repeated:
            self._reason = text_field(part, "reason")
            cost = number_field(part, "cost")
            self._cost = self._cost if cost is None else (self._cost or 0.0) + cost
        found = self._builder.continues(ANSWER, None, name)
        if repeated or (not parts and found is None):
            self._builder.add_state(record, f"repeated/{kind}" if repeated else kind)
            return
        if found is None:
            time = time_of_milliseconds(value.get("timestamp"))
            found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
            found.answer = name
            found.add_ids(name)
        else:
            self._builder.add(record, parts)
        if kind == "step_finish":
            found.usage = _read_usage(object_field(part, "tokens"))
            found.stop_reason = self._reason


def _is_event(value: Mapping[str, Any]) -> bool:
    if text_field(value, "type") not in _EVENTS or text_field(value, "sessionID") is None:
        return False
    return "error" in value if value["type"] == "error" else isinstance(value.get("part"), dict)


def _add_message(builder: RunBuilder, record: Record, info: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
    """Begin a message of 1.x, or reject the record if its role is not known."""
    parts = [each for part in blocks for each in _read_part(part)]
    time = time_of_milliseconds(object_field(info, "time").get("created"))
    role = info.get("role")
    if role == "user":
        author, kind = _speaker_of(blocks)
        builder.begin(record, author, kind, parts, time=time).add_ids(text_field(info, "id"))
    elif role == "assistant":
        _add_answer(builder, record, info, parts, time).add_ids(text_field(info, "id"))
    else:
        builder.reject(record, "a message without a known role")


def _speaker_of(blocks: list[dict[str, Any]]) -> tuple[Author, str]:
    """Return who wrote a user message: a person, or OpenCode, which asks for a summary or adds text of its own."""
    if any(block.get("type") == _COMPACTION for block in blocks):
        return INJECTED, META
    texts = [block for block in blocks if block.get("type") == "text"]
    return (INJECTED, META) if texts and all(block.get("synthetic") is True for block in texts) else (HUMAN, PROMPT)


def _add_answer(
    builder: RunBuilder, record: Record, info: dict[str, Any], parts: list[Part], time: str | None
) -> OpenMessage:
    failed = isinstance(info.get("error"), dict)
    if failed:
        parts.append(Part("text", {"text": _error_text(info["error"])}))
    is_error = failed and len(parts) == 1
    is_summary = info.get("summary") is True and not is_error
    kind = ERROR if is_error else _COMPACTION if is_summary else ANSWER
    found = builder.begin(record, _HARNESS if is_error else _AGENT, kind, parts, time=time)
    found.context_root = is_summary
    found.status = "error" if failed else None
    found.model = text_field(info, "modelID")
    found.stop_reason = "error" if failed else text_field(info, "finish")
    found.usage = _read_usage(object_field(info, "tokens"))
    found.cwd = text_field(object_field(info, "path"), "cwd") or builder.cwd
    return found


def _read_part(part: Mapping[str, Any]) -> Iterator[Part]:
    """Convert one part; those without content become nothing. A tool part holds a call and its result."""
    match part:
        case {"type": str(kind)} if kind in _NO_CONTENT:
            return
        case {"type": "text" | "reasoning" as kind, "text": str(text)}:
            yield Part(str(kind), {"text": text})
        case {"type": "tool", "state": dict(state), "tool": str(name)}:
            yield from _read_tool(state, name, call_id_of(part, "callID"))
        case {"type": "tool", "state": dict(state), "name": str(name)}:  # of OpenCode 2
            yield from _read_tool(state, name, call_id_of(part, "id"))
        case {"type": "file", "mime": str(), "url": str()}:
            yield _read_file(part)
        case _:
            yield Part("raw", {"json": dict(part)})


def _read_file(part: Mapping[str, Any]) -> Part:
    match part:
        case {"mime": str(media), "url": str(url)} | {"mime": str(media), "uri": str(url)}:
            head, found, data = url.partition(";base64,")
            inline = bool(found) and head.startswith("data:")
            return Part("file", {"media_type": media, "data": data} if inline else {"path": url})
    return Part("raw", {"json": dict(part)})


def _read_tool(state: Mapping[str, Any], name: str, known: dict[str, Any]) -> Iterator[Part]:
    yield Part("tool_call", {**known, "name": name, "input": state.get("input")})
    if text_field(state, "status") not in {"completed", "error"}:
        return
    metadata = object_field(state, "metadata")
    failed = state.get("status") == "error"
    output = state.get("error") if failed else state.get("output", output_of(state.get("content")))
    fields = {**known, "output": output, "is_error": failed}
    code = metadata.get("exit")
    if type(code) is int:
        fields |= {"exit_code": code, "is_error": failed or code != 0}
    other = {name: value for name, value in metadata.items() if name not in {"exit", "output"}}
    yield Part("tool_result", {**fields, "structured": other} if other else fields)


def _read_usage(tokens: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return token counts; the input count is without cached tokens, and the output count without reasoning."""
    cache = object_field(tokens, "cache")
    counts = {ours: count_field(tokens, theirs) for ours, theirs in _USAGE.items()}
    counts |= {ours: count_field(cache, theirs) for ours, theirs in _CACHE.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    known["output"] = known.get("output", 0) + known.get("reasoning", 0)
    return {**known, "raw": dict(tokens)} if any(known.values()) else None


def _error_text(error: object) -> str:
    """Return the text of an error: its name and message."""
    fields = error if isinstance(error, dict) else {}
    message = text_field(object_field(fields, "data"), "message") or text_field(fields, "message")
    return ": ".join(filter(None, [text_field(fields, "name"), message])) or "error"
