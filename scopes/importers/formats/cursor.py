"""Cursor: the rows of its editor and of its command line, its transcripts, and what its hooks were told.

All of them name a conversation by the same id (`conversation_id` of hooks, `composerId` of the editor, `agentId` of the
command line), so a conversation that was recorded by the hooks and is then imported from the store stays one
conversation: the journal of the hooks and the transcript are event streams of the session.

A transcript is what Cursor writes beside its databases, for its own search: prompts, answers and calls.

    ~/.cursor/projects/WORKSPACE/agent-transcripts/CONVERSATION/CONVERSATION.jsonl, CONVERSATION/subagents/AGENT.jsonl

It stays where the database of a chat was deleted, and has less than that: no results, no reasoning, and only the times
of prompts. It is a rendering of the conversation, which is left out if that comes from a database. Cursor publishes
nothing about it; the lines are as internal/parser/cursor.go of kenn-io/agentsview reads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

from scopes.hosts.agents import AGENTS, Agent
from scopes.importers.formats.base import Source, StandardFolders, list_entries
from scopes.importers.formats.collection import SEPARATOR
from scopes.importers.formats.cursor_chat import CHAT_DATABASE, is_chat_row, read_content, read_user, walk_chat_rows
from scopes.importers.formats.cursor_editor import EDITOR_DATABASE, NAME, is_editor_row, walk_editor_rows
from scopes.importers.formats.cursor_hooks import is_journal, walk_journal
from scopes.importers.formats.events import RENDERED_FROM, STREAM, Event, RunEnd, Session
from scopes.importers.formats.fields import object_field, short_word, text_field, time_of_milliseconds
from scopes.importers.formats.records import Record, digest_of_values, first_records, name_stream, walk_records
from scopes.importers.formats.run_builder import ANSWER, RunBuilder, read_beginning, walk_session
from scopes.model.message import Author, Part

_EDITOR = Agent(  # the directory of the editor, which Electron chooses
    NAME,
    "Cursor",
    None,
    ".config/Cursor/User",
    elsewhere={"darwin": "Library/Application Support/Cursor/User", "win32": "AppData/Roaming/Cursor/User"},
)
_AGENT = Author(NAME, "agent")
_ID = r"([0-9a-fA-F]{8}-[0-9a-fA-F-]{20,40})"
_FILE = re.compile(rf"(?:.*[/\\])?{_ID}(?:\.jsonl)?", re.DOTALL)  # the stored copy is named by the id alone
_SUB_AGENT = re.compile(rf"(?:.*[/\\])?{_ID}[/\\]subagents[/\\]{_ID}\.jsonl", re.DOTALL)
_ENDED = "turn_ended"
_AGENT_TOOLS = frozenset({"Subagent", "Task"})
_REDACTED = re.compile(r"\s*\[REDACTED\]\s*\Z")  # stands for the reasoning behind the text of an answer
_TIMESTAMP = re.compile(  # <timestamp>Thursday, Sep 10, 2026, 8:00 AM (UTC+3)</timestamp>
    r"\s*<timestamp>[A-Z][a-z]+, ([A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M) "
    r"\(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\)</timestamp>\s*"
)


def _find_session(top: str, session: str) -> str | None:
    """Return the source of a conversation: a database of its own, or one of many in that of the editor."""
    if os.path.basename(top) == EDITOR_DATABASE:
        return f"{top}{SEPARATOR}{session}" if os.path.isfile(top) else None
    for workspace in list_entries(top):
        database = os.path.join(workspace.path, session, CHAT_DATABASE)
        if os.path.isfile(database):
            return f"{database}{SEPARATOR}{session}"
    return None


class Cursor:
    """The editor Cursor, its command line `cursor-agent`, and its hooks."""

    name = NAME
    file_suffixes = (".jsonl", ".db", ".vscdb")
    standard_folders = StandardFolders(
        AGENTS[NAME],
        ("chats", "projects"),
        _find_session,
        elsewhere=((_EDITOR, os.path.join("globalStorage", EDITOR_DATABASE)),),
    )
    sub_agent_fields: tuple[str, ...] = ("agentId",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return is_editor_row(head) or is_chat_row(head) or is_journal(head) or _is_transcript(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its messages and states, and the Ending.

        Raises:
            CannotImport: nothing in the source names its conversation, or the list of its messages is damaged.
        """
        head = read_beginning(source)
        if is_editor_row(head):
            yield from walk_editor_rows(source)
        elif is_chat_row(head):
            yield from walk_chat_rows(source)
        elif _is_transcript(head):
            yield from walk_session(source, _Reader(source.path, first_records(head)[:1]), walk_records)
        else:
            yield from walk_journal(source)


def _is_transcript(head: bytes) -> bool:
    return b'"role"' in head and b'"message"' in head and any(map(_is_message, first_records(head)[:1]))


def _is_message(value: Mapping[str, Any]) -> bool:
    return (
        value.get("role") in ("user", "assistant")
        and "type" not in value
        and "content" in object_field(value, "message")
    )


class _Reader:
    """Turns the lines of a transcript into events; `first` has its first line."""

    def __init__(self, path: str, first: list[dict[str, Any]]) -> None:
        self._builder = RunBuilder(is_stream=True)
        self._end: RunEnd | None = None
        found, below = _FILE.fullmatch(path), _SUB_AGENT.fullmatch(path)
        name, parent = None if found is None else found[1], None if below is None else below[1]
        message, time = _without_time(object_field(first[0], "message") if first else {})
        prompt = next((part.text for part in read_user(message)[2] if part.type == "text"), "")
        self.session = Session(
            format=NAME,
            native_id=name or digest_of_values(iter(first)),
            sub_file=name_stream(first),
            created=time,
            base=parent,
            spawned_by=None if parent is None else {"session": parent, "call_id": _name_of_call(prompt)},
            details={"line": STREAM, **({} if name is None else {RENDERED_FROM: (NAME, name)})},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next line; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        message = object_field(value, "message")
        if value.get("type") == _ENDED:
            failed = value.get("status") == "error"
            self._end = RunEnd("error", text_field(value, "error") or "error") if failed else RunEnd("success")
            self._builder.add_state(record, _ENDED)
        elif not _is_message(value):
            self._builder.reject(record, f"a line of the type {short_word(value, 'type')}")
        elif value["role"] == "user":
            self._end = None
            message, time = _without_time(message)
            author, kind, parts = read_user(message)
            self._builder.begin(record, author, kind, parts, time=time)
        else:
            self._builder.begin(record, _AGENT, ANSWER, filter(None, map(_read_part, read_content(message))))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=self._end)


def _read_part(part: Part) -> Part | None:
    """Return a part of an answer without the mark of its reasoning; None if that is all.

    The call of a sub-agent gets an id, which is the same in the transcript of the agent: calls have none.
    """
    if part.type == "text":
        text = _REDACTED.sub("", part.text)
        return Part("text", {"text": text}) if text or not part.text else None
    given = part.fields.get("input")
    prompt = given.get("prompt") if part.type == "tool_call" and isinstance(given, dict) else None
    if part.fields.get("name") in _AGENT_TOOLS and isinstance(prompt, str):
        return Part("tool_call", {"call_id": _name_of_call(prompt), **part.fields})
    return part


def _name_of_call(prompt: str) -> str:
    """Return an id for the call that starts a sub-agent with a prompt."""
    return f"prompt-{sha256(prompt.strip().encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _without_time(message: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return a prompt without the time before its text, and the time; None if it has none."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    found = _TIMESTAMP.match(text) if isinstance(text, str) else None
    if found is None or not isinstance(first, dict) or not isinstance(content, list):
        return message, None
    message = {**message, "content": [{**first, "text": found.string[found.end() :]}, *content[1:]]}
    offset = timedelta(hours=int(found[3] or 0), minutes=int(found[4] or 0)) * (-1 if found[2] == "-" else 1)
    try:
        local = datetime.strptime(found[1], "%b %d, %Y, %I:%M %p").replace(tzinfo=timezone(offset))
    except ValueError:
        return message, None
    return message, time_of_milliseconds(int(local.timestamp()) * 1000)
