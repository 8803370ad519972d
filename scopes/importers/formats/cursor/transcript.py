"""Read a transcript that Cursor writes beside its databases, for its own search: prompts, answers and calls.

    ~/.cursor/projects/WORKSPACE/agent-transcripts/CONVERSATION/CONVERSATION.jsonl, CONVERSATION/subagents/AGENT.jsonl

It stays where the database of a chat was deleted, and has less than that: no results, no times, no reasoning. So it is
an event stream of the conversation, and a rendering of it, which is left out if that comes from a database. Cursor
publishes nothing about it; the lines are as internal/parser/cursor.go of kenn-io/agentsview reads them. No real one
was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.cursor.chat_parts import read_content, read_user
from scopes.importers.formats.cursor.names import NAME
from scopes.importers.formats.events import RENDERED_FROM, STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import object_field, short_word, text_field
from scopes.importers.formats.records import Record, digest_of_values, first_records, name_stream, walk_records
from scopes.importers.formats.run_builder import ANSWER, RunBuilder, read_beginning, walk_session
from scopes.model.message import Author

_AGENT = Author(NAME, "agent")
_ID = r"([0-9a-fA-F]{8}-[0-9a-fA-F-]{20,40})"
_FILE = re.compile(rf"(?:.*[/\\])?{_ID}(?:\.jsonl)?", re.DOTALL)  # the stored copy is named by the id alone
_SUB_AGENT = re.compile(rf"(?:.*[/\\])?{_ID}[/\\]subagents[/\\]{_ID}\.jsonl", re.DOTALL)
_ENDED = "turn_ended"


def is_transcript(head: bytes) -> bool:
    """Return True if a source begins with a message of such a transcript."""
    return b'"role"' in head and b'"message"' in head and any(map(_is_message, first_records(head)[:1]))


def walk_transcript(source: Source) -> Iterator[Event]:
    """Yield the Session, its messages and states, and the Ending."""
    yield from walk_session(source, _Reader(source), walk_records)


def _is_message(value: Mapping[str, Any]) -> bool:
    is_known = value.get("role") in {"user", "assistant"} if isinstance(value.get("role"), str) else False
    return is_known and "type" not in value and "content" in object_field(value, "message")


class _Reader:
    """Turns the lines of a transcript into events."""

    def __init__(self, source: Source) -> None:
        self._builder = RunBuilder(is_stream=True)
        first = first_records(read_beginning(source))[:1]
        self._end: RunEnd | None = None
        found, below = _FILE.fullmatch(source.path), _SUB_AGENT.fullmatch(source.path)
        parent = None if below is None else below[1]
        name = None if found is None else found[1]
        original = {} if name is None else {RENDERED_FROM: (NAME, name)}
        self.session = Session(
            format=NAME,
            native_id=name or digest_of_values(iter(first)),
            sub_file=name_stream(first),
            base=parent,
            spawned_by=None if parent is None else {"session": parent},
            details={"line": STREAM, **original},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next line; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        message = object_field(value, "message")
        if value.get("type") == _ENDED:
            status = text_field(value, "status") or ""
            self._end = (
                RunEnd("error", text_field(value, "error") or status) if status == "error" else RunEnd("success")
            )
            self._builder.add_state(record, _ENDED)
        elif not _is_message(value):
            self._builder.reject(record, f"a line of the type {short_word(value, 'type')}")
        elif value["role"] == "user":
            self._end = None
            author, kind, parts = read_user(message)
            self._builder.begin(record, author, kind, parts)
        else:
            self._builder.begin(record, _AGENT, ANSWER, read_content(message))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end)
