"""The Pi format: session files, and what `pi --mode json` prints, which has the same messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders, find_below
from scopes.importers.formats.events import STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import (
    call_id_of,
    number_field,
    object_field,
    read_counts,
    text_field,
    time_field,
    time_of_milliseconds,
)
from scopes.importers.formats.records import Record, digest_of_record, first_records, name_stream
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    OpenMessage,
    ParentLinks,
    RunBuilder,
    read_beginning,
    walk_runs,
)
from scopes.model.message import Author, Part

NAME = "pi"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_STREAM_TYPES = frozenset({
    "agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update", "message_end",
    "tool_execution_start", "tool_execution_update", "tool_execution_end", "queue_update", "compaction_start",
    "compaction_end", "auto_retry_start", "auto_retry_end",
})  # fmt: skip
_STATES = frozenset({
    "session", "model_change", "thinking_level_change", "label", "session_info", "custom", "custom_message",
    "branch_summary", "compaction",
})  # fmt: skip
COMPACTION: Final = "compaction"
_SUMMARIES = {COMPACTION: COMPACTION, "branch_summary": "summary"}  # the kind of message of a record with a summary
_CUSTOM = "custom_message"  # of an extension
_USAGE = {"input": "input_uncached", "cacheRead": "cache_read", "cacheWrite": "cache_write", "output": "output"}
_ENDED = frozenset({"error", "aborted"})


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the directory of any project; None if there is none."""
    return find_below(top, "", lambda name: name.endswith(f"_{session}.jsonl"))


class Pi(Format):
    """Pi since its session files of version 3."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("sessions",), _find_session, "PI_CODING_AGENT_SESSION_DIR", True)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if b'"session"' not in head and b'"message_' not in head:
            return False
        return any(_is_header(value) or _is_stream_record(value) for value in first_records(head))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending; another header begins another session."""
        yield from walk_runs(source, _Reader(first_records(read_beginning(source))))


class _Reader:
    """Turns the records of one session into events."""

    def __init__(self, head: list[dict[str, Any]], *, is_stream: bool = False) -> None:
        header = next(filter(_is_header, head), {})
        self.is_stream = is_stream or any(map(_is_stream_record, head))
        self._id = text_field(header, "id") or digest_of_record(head[0] if head else None)
        self._builder = RunBuilder(is_stream=self.is_stream)
        self._builder.cwd = text_field(header, "cwd")
        self._seen: set[str] = set()
        self._links = ParentLinks()
        self._stop: tuple[str | None, str | None] = (None, None)  # stop reason and error of the last answer
        self._cost: float | None = None
        self._title: str | None = None
        self._ended = False
        messages = (value for value in head if value.get("type") == "message_end")
        self.session = Session(
            format=NAME,
            native_id=self._id,
            sub_file=name_stream(messages) if self.is_stream else None,
            created=time_field(header),
            cwd=self._builder.cwd,
            details={"line": STREAM} if self.is_stream else {},
        )

    def ends_at(self, value: Mapping[str, Any]) -> bool:
        """Return True if a record begins another session."""
        return _is_header(value) and value.get("id") != self._id

    def next_run(self, value: dict[str, Any]) -> _Reader:
        """Return the reader of the session that a record begins."""
        return _Reader([value], is_stream=self.is_stream)

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind = text_field(value, "type")
        message = object_field(value, "message")
        if kind == ("message_end" if self.is_stream else "message") and message:
            self._read_message(record, value, message)
        elif kind in _SUMMARIES and text_field(value, "summary") is not None:
            self._read_text(record, value, Part("text", {"text": value["summary"]}))
        elif kind == _CUSTOM and value.get("content"):
            self._read_text(record, value, *_read_content(value["content"]))
        elif kind is not None and (kind in _STATES or kind in _STREAM_TYPES):
            if kind == "session_info":
                self._title = text_field(value, "name")
            self._ended = kind == "agent_end" or (self._ended and kind not in {"agent_start", "turn_start"})
            self._links.add(text_field(value, "id"), self._links.find(text_field(value, "parentId")))
            self._builder.add_state(record, kind)
        else:
            self._builder.reject(record, "a record of unknown type")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        reason, error = self._stop
        end = None
        if self._ended:
            detail = ": ".join(filter(None, [reason, error])) if reason in _ENDED else ""
            end = RunEnd("error" if reason in _ENDED else "success", detail, self._cost)
        yield from self._builder.finish(title=self._title, run_end=end)

    def _read_text(self, record: Record, value: Mapping[str, Any], *parts: Part) -> None:
        """Read a summary, or a message of an extension, both of which the model sees and no one has typed."""
        kind = _SUMMARIES.get(str(value.get("type")), META)
        author = _HARNESS if kind == COMPACTION else INJECTED
        found = self._builder.begin(record, author, kind, parts, time=time_field(value))
        found.context_root = kind == COMPACTION
        self._link(record, value, found)

    def _link(self, record: Record, value: Mapping[str, Any], found: OpenMessage) -> None:
        """Give a message its place in the tree."""
        name, parent = text_field(value, "id"), text_field(value, "parentId")
        found.add_ids(name)
        if self._links.knows(parent) and found.key == str(record.span.offset):
            found.parent = self._links.find(parent)
        self._links.add(name, found.key)

    def _read_message(self, record: Record, value: Mapping[str, Any], message: dict[str, Any]) -> None:
        digest = digest_of_record(message)
        role = text_field(message, "role")
        if digest in self._seen:
            self._builder.add_state(record, "repeated/message")
            return
        self._seen.add(digest)
        self._ended = False  # the run goes on after its end
        time = _time_of(value, message)
        if role == "toolResult":
            self._read_result(record, message, time)
        elif role == "assistant":
            self._read_answer(record, message, time)
        elif role == "user":
            self._builder.begin(record, HUMAN, PROMPT, _read_content(message.get("content")), time=time)
        else:
            self._builder.begin(record, _HARNESS, "notice", _read_content(message.get("content")), time=time)
        found = self._builder.open
        if found is not None:
            self._link(record, value, found)
            found.add_ids(text_field(message, "responseId"))

    def _read_answer(self, record: Record, message: dict[str, Any], time: str | None) -> None:
        self._stop = text_field(message, "stopReason"), text_field(message, "errorMessage")
        parts = list(_read_content(message.get("content")))
        if self._stop[0] in _ENDED and not parts:
            text = Part("text", {"text": self._stop[1] or str(self._stop[0])})
            found = self._builder.begin(record, _HARNESS, ERROR, [text], time=time)
            found.status = "error"
        else:
            found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
        found.model = text_field(message, "model")
        found.stop_reason = self._stop[0]
        usage = object_field(message, "usage")
        found.usage = read_counts(usage, _USAGE)
        cost = number_field(object_field(usage, "cost"), "total")
        if cost is not None:
            self._cost = (self._cost or 0.0) + cost

    def _read_result(self, record: Record, message: dict[str, Any], time: str | None) -> None:
        fields = call_id_of(message, "toolCallId")
        content = message.get("content")
        texts = [each.get("text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
        only_text = len(texts) == 1 and isinstance(texts[0], str)
        fields |= {"output": texts[0]} if only_text else {"output": content}
        if isinstance(message.get("isError"), bool):
            fields["is_error"] = message["isError"]
        if "details" in message:
            fields |= {"structured": message["details"]}
        part = Part("tool_result", fields)
        self._builder.add_result(record, [part], time=time)


def _is_header(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "session" and "version" in value and text_field(value, "id") is not None


def _is_stream_record(value: Mapping[str, Any]) -> bool:
    kind = text_field(value, "type")
    if kind in {"message_start", "message_end"}:
        return text_field(object_field(value, "message"), "role") is not None
    return kind in _STREAM_TYPES and kind in {"agent_start", "agent_end", "turn_start", "turn_end"}


def _time_of(value: Mapping[str, Any], message: Mapping[str, Any]) -> str | None:
    """Return the time of a message, which both files have; milliseconds since 1970."""
    return time_of_milliseconds(message.get("timestamp")) or time_field(value)


def _read_content(content: object) -> Iterable[Part]:
    blocks: list[Any] = content if isinstance(content, list) else [content] if content is not None else []
    for block in blocks:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": "thinking", "thinking": str(text)}:
                yield Part("reasoning", {"text": text})
            case {"type": "toolCall", "name": str(name)}:
                yield Part("tool_call", {**call_id_of(block, "id"), "name": name, "input": block.get("arguments")})
            case {"type": "image", "data": str(data), "mimeType": str(media)}:
                yield Part("image", {"media_type": media, "data": data})
            case _:
                yield Part("raw", {"json": block})
