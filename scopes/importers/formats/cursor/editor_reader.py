"""Read the rows of a conversation of Cursor's editor: each bubble is a part of a message.

An answer ends where the agent says something after a call, because then the model was asked again; so parallel calls
are one answer, as are calls that follow each other without a word. A bubble that the conversation does not list was
taken back; it stays a state. Fields that are not converted are in the original bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.collection import Row, begins_with_row, read_row
from scopes.importers.formats.cursor.cells import read_object
from scopes.importers.formats.cursor.editor_parts import (
    read_call,
    read_directory,
    read_prompt,
    read_time,
    read_usage,
    read_words,
)
from scopes.importers.formats.cursor.editor_rows import listed_bubbles
from scopes.importers.formats.cursor.names import (
    BUBBLE,
    COMPOSER,
    CONTENT,
    EDITOR_DATABASE,
    HEADERS,
    ITEMS,
    NAME,
    OTHER_KEYS,
    PANEL,
    VALUES,
)
from scopes.importers.formats.events import EDITION, FILE, Event, Session
from scopes.importers.formats.fields import object_field, short_word, text_field
from scopes.importers.formats.records import Record, walk_records
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RunBuilder
from scopes.model.message import Author, Part

_AGENT = Author(NAME, "agent")
_USER, _ASSISTANT = (1, "user"), (2, "ai", "assistant")
_BEGINNINGS = tuple(f'{{"key":"{word}' for word in (COMPOSER, BUBBLE, PANEL))


def is_editor_row(head: bytes) -> bool:
    """Return True if a source begins with a row of a conversation of the editor."""
    if begins_with_row(head, [HEADERS]):
        return b'"composerId":' in head
    places = [
        f'{{"table":"{table}","row":{beginning}'.encode() for table in (VALUES, ITEMS) for beginning in _BEGINNINGS
    ]
    return head.startswith(tuple(places))


def walk_editor_rows(source: Source) -> Iterator[Event]:
    """Yield the events of a conversation. The rows before the first bubble, and that, tell what it is."""
    head: list[tuple[Record, Row | None]] = []
    reader: _Reader | None = None
    with source.open() as stream:
        for record in walk_records(stream, source.size):
            row = read_row(record.value)
            if reader is not None:
                yield from reader.read(record, row)
                continue
            head.append((record, row))
            if row is not None and _key_of(row).startswith(BUBBLE):
                reader = _Reader([row for _, row in head if row is not None])
                yield reader.session
                for each in head:
                    yield from reader.read(*each)
    if reader is None:
        reader = _Reader([row for _, row in head if row is not None])
        yield reader.session
        for each in head:
            yield from reader.read(*each)
    yield from reader.finish()


def _key_of(row: Row) -> str:
    return text_field(row.columns, "key") or ""


class _Reader:
    """Turns the rows of a conversation into events."""

    def __init__(self, head: list[Row]) -> None:
        documents = {_kind_of(row): read_object(row.columns.get("value")) or {} for row in reversed(head)}
        about = documents.get(COMPOSER, {})
        header = documents.get(HEADERS, {})
        bubble = documents.get(BUBBLE, {})
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = _directory_of(about) or _directory_of(header) or _workspace_of(bubble)
        self._listed = frozenset(listed_bubbles(about))
        self._title = next(
            filter(
                None, (text_field(each, name) for each in (about, header) for name in ("name", "chatTitle", "title"))
            ),
            None,
        )
        above = object_field(about, "subagentInfo") or object_field(header, "subagentInfo")
        parent, call = text_field(above, "parentComposerId"), text_field(above, "toolCallId")
        agent = text_field(above, "subagentTypeName")
        self.session = Session(
            format=NAME,
            native_id=next(filter(None, map(_name_of, head)), "unknown"),
            created=read_time(about.get("createdAt"), header.get("createdAt"), bubble.get("createdAt")),
            cwd=self._builder.cwd,
            title=self._title,
            base=parent,
            spawned_by=None if parent is None else {"session": parent, **({} if call is None else {"call_id": call})},
            details={
                FILE: EDITOR_DATABASE,
                EDITION: int(not any(row.table == ITEMS for row in head)),  # workspaces have the older layout
                **({} if parent is None or agent is None else {"agent": agent}),
            },
        )

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        key = "" if row is None else _key_of(row)
        state = record._replace(value=None)
        if row is None:
            self._builder.reject(record, "not a row")
        elif key.startswith(BUBBLE):
            self._read_bubble(record, row, key.rpartition(":")[2])
        elif key.startswith(CONTENT) and self._builder.open is not None:
            self._builder.add(record)
        elif key.startswith((CONTENT, *OTHER_KEYS)):
            self._builder.add_state(state, key.partition(":")[0])
        elif _kind_of(row) in {COMPOSER, HEADERS}:
            if row.table != HEADERS and read_object(row.columns.get("value")) is None:
                self._builder.reject(record, "a conversation that cannot be read")
            else:
                self._builder.add_state(state, "conversation")
        else:
            self._builder.reject(record, f"a row of {row.table[:64]!a} that belongs to no conversation")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _read_bubble(self, record: Record, row: Row, name: str) -> None:
        value = row.columns.get("value")
        bubble = read_object(value)
        if self._listed and name not in self._listed:
            self._builder.add_state(record._replace(value=None), "bubble/not-listed")
        elif value in {None, "", "null"}:
            self._builder.add_state(record, "bubble/empty")
        elif bubble is None:
            self._builder.reject(record, "a bubble that is no JSON object")
        elif bubble.get("type") in _USER:
            self._read_prompt(record, bubble, name)
        elif bubble.get("type") in _ASSISTANT:
            self._read_answer(record, bubble, name)
        else:
            self._builder.reject(record, f"a bubble of the type {short_word(bubble, 'type')}")

    def _read_prompt(self, record: Record, bubble: Mapping[str, Any], name: str) -> None:
        parts = list(read_prompt(bubble))
        if not parts:
            self._builder.add_state(record._replace(value=None), "bubble/empty")
            return
        self._builder.cwd = _workspace_of(bubble) or self._builder.cwd
        found = self._builder.begin(record, HUMAN, PROMPT, parts, time=read_time(bubble.get("createdAt")))
        found.add_ids(name)
        self._builder.model = _model_of(bubble) or self._builder.model

    def _read_answer(self, record: Record, bubble: Mapping[str, Any], name: str) -> None:
        words = list(read_words(bubble))
        call = object_field(bubble, "toolFormerData")
        parts = [*words, *(read_call(call, name) if call else ())]
        if not parts:
            self._builder.add_state(record._replace(value=None), "bubble/empty")
            return
        found = self._builder.continues(ANSWER)
        if found is None or (words and _has_call(found.parts)):
            time = read_time(bubble.get("createdAt"), object_field(bubble, "timingInfo").get("clientRpcSendTime"))
            found = self._builder.begin(record, _AGENT, ANSWER, parts, time=time)
        else:
            self._builder.add(record, parts)
        found.add_ids(name, text_field(bubble, "serverBubbleId"))
        found.model = _model_of(bubble) or found.model
        found.usage = read_usage(bubble, found.usage)


def _has_call(parts: list[Part]) -> bool:
    return any(part.type == "tool_call" for part in parts)


def _kind_of(row: Row) -> str:
    """Return what a row is, as the beginning of its key; that of a conversation for a chat of the panel too."""
    key = _key_of(row)
    if row.table == HEADERS:
        return HEADERS
    return COMPOSER if key.startswith((COMPOSER, PANEL)) else BUBBLE if key.startswith(BUBBLE) else ""


def _name_of(row: Row) -> str | None:
    """Return the id of the conversation in a row."""
    key = _key_of(row)
    if row.table == HEADERS:
        return text_field(row.columns, "composerId")
    for beginning in (COMPOSER, f"{PANEL}:"):
        if key.startswith(beginning):
            return key.removeprefix(beginning) or None
    return key.removeprefix(BUBBLE).rpartition(":")[0] or None if key.startswith(BUBBLE) else None


def _directory_of(about: Mapping[str, Any]) -> str | None:
    """Return the directory of the workspace of a conversation, else that of its first repository."""
    repositories = about.get("trackedGitRepos")
    first = repositories[0] if isinstance(repositories, list) and repositories else None
    found = read_directory(object_field(about, "workspaceIdentifier").get("uri"))
    return found or (read_directory(first.get("repoPath")) if isinstance(first, dict) else None)


def _workspace_of(bubble: Mapping[str, Any]) -> str | None:
    uris = bubble.get("workspaceUris")
    return read_directory(uris[0]) if isinstance(uris, list) and uris else None


def _model_of(bubble: Mapping[str, Any]) -> str | None:
    """Return the model that a bubble names; `default` is none."""
    name = text_field(object_field(bubble, "modelInfo"), "modelName") or text_field(bubble, "modelType")
    return None if name == "default" else name
