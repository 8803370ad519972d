"""Chats of the command line of Cursor: `~/.cursor/chats/WORKSPACE/CHAT/store.db`, one database for each.

Cursor publishes nothing about this, and no database of a real Cursor with messages was seen. What is known was found
out by others: corveil/crow#1105, kenn-io/agentsview#1664 (internal/parser/cursor_store.go), stablyai/orca#11370,
juspay/neurolink#1604, and the tests of chenhg5/tape:

    meta   one row, hexadecimal JSON: agentId, latestRootBlobId, name, mode, createdAt, lastUsedModel
    blobs  by the SHA-256 of their content: messages are JSON, all others are protobuf

The root is a message `ConversationStateStructure`; its field 1 has the ids of the messages in their order, and 9 the
workspace. The lines are `meta`, the root, its messages, and all other blobs, which are states: what the root does not
name was taken back or replaced by a summary. Messages have the shape of the AI SDK of Vercel, and no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from scopes.errors import CannotImport
from scopes.importers.formats.base import Source
from scopes.importers.formats.collection import Conversation, Row, begins_with_row, read_row
from scopes.importers.formats.cursor_editor import (
    NAME,
    encode_cells,
    read_directory,
    read_object,
    read_text,
    read_time,
)
from scopes.importers.formats.database import Database
from scopes.importers.formats.events import FILE, Event, Session
from scopes.importers.formats.fields import object_field, read_arguments, read_file, short_word, text_field
from scopes.importers.formats.records import Record, walk_records
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, META, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.model.message import Author, Part

CHAT_DATABASE: Final = "store.db"
_ABOUT, _BLOBS = "meta", "blobs"  # tables
_ID_BYTES = 32
_MESSAGES, _WORKSPACE = 1, 9  # fields of a root
_VARINT, _BYTES = 0, 2  # wire types of protobuf
_WIDTHS = {1: 8, 5: 4}
_MAX_SHIFT = 63
_AGENT = Author(NAME, "agent")
_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_INJECTED = re.compile(r"\s*<(?!user_query)[a-z_]{3,40}>")  # context that Cursor writes in the name of the user
_EXIT_CODE = re.compile(r"Exit code: (\d{1,9})\b")
_URLS = ("data:", "http:", "https:", "file:")


class CursorChatDatabase:
    """`store.db` of a chat."""

    format = NAME
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (
        MappingProxyType({_BLOBS: ("id", "data"), _ABOUT: ("key", "value")}),
    )

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield the chat."""
        rows = [{**row, "value": _decode_hexadecimal(row["value"])} for row in database.walk(_ABOUT, order=("key",))]
        about, messages = _read_about(rows), set[str]()
        yield Conversation(
            text_field(about, "agentId") or "unknown", _walk_lines(database, rows, about, messages), messages
        )


def _decode_hexadecimal(cell: object) -> object:
    """Return a cell of `meta` as the JSON that it has in hexadecimal digits; other cells as they are."""
    try:
        decoded = bytes.fromhex(read_text(cell) or "")
    except ValueError:
        return cell
    return cell if read_object(decoded) is None else read_text(decoded)


def _read_about(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what `meta` says of the chat: one object, or in other versions a row for each field."""
    documents = [found for row in rows if (found := read_object(row.get("value"))) is not None]
    named = next((found for found in documents if isinstance(found.get("agentId"), str)), None)
    return named or {key: row.get("value") for row in rows if isinstance(key := row.get("key"), str)}


def _walk_lines(
    database: Database, rows: list[dict[str, Any]], about: Mapping[str, Any], messages: set[str]
) -> Iterator[bytes]:
    yield from (encode_cells(_ABOUT, row) for row in rows)
    root = text_field(about, "latestRootBlobId")
    known = set[str]()
    for row in database.walk(_BLOBS, "id", root) if root is not None else ():
        known.add(row["id"])
        yield encode_cells(_BLOBS, row)
        messages.update(_message_ids(_content_of(row)))
        for name in dict.fromkeys(_message_ids(_content_of(row))):
            known.add(name)
            found = [encode_cells(_BLOBS, each) for each in database.walk(_BLOBS, "id", name)]
            yield from found or [encode_cells(_BLOBS, {"id": name, "data": None})]
    for row in database.walk(_BLOBS, order=("id",)):
        if row["id"] not in known:
            yield encode_cells(_BLOBS, row)


def _content_of(columns: Mapping[str, Any]) -> bytes:
    """Return the content of a blob, which is text in its line if it is UTF-8."""
    data = columns.get("data")
    return data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass") if isinstance(data, str) else b""


def _message_ids(root: bytes) -> list[str]:
    """Return the ids of the messages that a root has."""
    fields = read_fields(root) or []
    return [content.hex() for number, content in fields if number == _MESSAGES and len(content) == _ID_BYTES]


def read_fields(data: bytes) -> list[tuple[int, bytes]] | None:
    """Return the numbers and contents of the fields of a protobuf message that are bytes; None if it is no message.

    A library for this needs the schema (protobuf.dev/programming-guides/encoding).
    """
    found, at = [], 0
    try:
        while at < len(data):
            key, at = _read_varint(data, at)
            number, kind = key >> 3, key & 7
            if kind == _VARINT:
                _, at = _read_varint(data, at)
                continue
            width, at = _read_varint(data, at) if kind == _BYTES else (_WIDTHS[kind], at)
            if not number or at + width > len(data):
                return None
            if kind == _BYTES:
                found.append((number, data[at : at + width]))
            at += width
    except (IndexError, KeyError):
        return None
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > _MAX_SHIFT:
            raise IndexError(at)


def is_chat_row(head: bytes) -> bool:
    """Return True if a source begins with what a chat of the command line is."""
    return begins_with_row(head, [_ABOUT]) and (b"agentId" in head or b"latestRootBlobId" in head)


def walk_chat_rows(source: Source) -> Iterator[Event]:
    """Yield the events of a chat. Its first rows, up to the root, tell what it is.

    Raises:
        CannotImport: it has messages, but not the root, which says what they are and in which order.
    """
    head: list[tuple[Record, Row | None]] = []
    with source.open() as stream:
        records = ((record, read_row(record.value)) for record in walk_records(stream, source.size))
        for record, row in records:
            head.append((record, row))
            if row is None or row.table != _ABOUT:
                break
        reader = _Reader([row for _, row in head if row is not None])
        yield reader.session
        for each in chain(head, records):
            yield from reader.read(*each)
    yield from reader.finish()
    if reader.unlisted and not reader.has_root:
        text = f"{source.path}: the list of its messages is missing or damaged"
        raise CannotImport(text, hint="import its transcript in ~/.cursor/projects, if it is there")


class _Reader:
    """Turns the rows of a chat into events.

    has_root: the root is there, and can be read
    unlisted: how many messages the root does not name
    """

    def __init__(self, head: list[Row]) -> None:
        about = _read_about([row.columns for row in head if row.table == _ABOUT])
        self._root = text_field(about, "latestRootBlobId")
        root = next((_content_of(row.columns) for row in head if row.columns.get("id") == self._root), b"")
        fields = read_fields(root)
        self.has_root, self.unlisted = bool(fields), 0
        self._listed = frozenset(_message_ids(root))
        self._title = text_field(about, "name")
        self._builder = RunBuilder(is_stream=False)
        workspace = next((read_text(content) for number, content in fields or () if number == _WORKSPACE), None)
        self._builder.cwd = read_directory(workspace)
        self.session = Session(
            format=NAME,
            native_id=text_field(about, "agentId") or "unknown",
            created=read_time(about.get("createdAt")),
            cwd=self._builder.cwd,
            title=self._title,
            details={FILE: CHAT_DATABASE},
        )

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        if row is None:
            self._builder.reject(record, "not a row")
        elif row.table == _ABOUT:
            self._builder.add_state(record, _ABOUT)
        elif row.table == _BLOBS:
            self._read_blob(record, row.columns)
        else:
            self._builder.reject(record, f"a row of {row.table[:64]!a}")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _read_blob(self, record: Record, columns: Mapping[str, Any]) -> None:
        name, state = text_field(columns, "id") or "", record._replace(value=None)
        message = read_object(columns.get("data"))
        if columns.get("data") is None:
            self._builder.reject(record, "a message that the store does not have")
        elif message is not None and name in self._listed:
            self._read_message(record, message, name)
        elif message is not None and "role" in message:
            self.unlisted += 1
            self._builder.add_state(state, "message/not-in-root")
        elif self._listed or name == self._root:
            self._builder.add_state(state, "root" if name == self._root else "blob")
        else:
            self._builder.reject(record, "a blob that is no message in JSON")

    def _read_message(self, record: Record, message: Mapping[str, Any], name: str) -> None:
        match message.get("role"):
            case "system":
                found = self._builder.begin(record, INJECTED, "system", read_content(message))
            case "user":
                author, kind, parts = read_user(message)
                found = self._builder.begin(record, author, kind, parts)
            case "assistant":
                found = self._builder.begin(record, _AGENT, ANSWER, read_content(message))
                found.model = _model_of(message) or found.model
            case "tool" if self._builder.continues(RESULTS) is not None and self._builder.open is not None:
                found = self._builder.open
                self._builder.add(record, read_content(message))
            case "tool":
                found = self._builder.begin(record, TOOL, RESULTS, read_content(message))
            case _:
                self._builder.reject(record, f"a message of the role {short_word(message, 'role')}")
                return
        found.add_ids(name, text_field(_options_of(message), "requestId"))


def _options_of(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what Cursor adds to a message, or to a part of it."""
    return object_field(object_field(value, "providerOptions"), NAME)


def _model_of(message: Mapping[str, Any]) -> str | None:
    """Return the model that an answer, or a part of it, names."""
    content = message.get("content")
    named = [message, *(each for each in content if isinstance(each, dict))] if isinstance(content, list) else [message]
    names = (text_field(_options_of(each), "modelName") for each in named)
    return next((name for name in names if name not in {None, "default"}), None)


def read_user(message: Mapping[str, Any]) -> tuple[Author, str, list[Part]]:
    """Return who wrote a user message, its kind and its parts: what was typed comes before the context around it."""
    parts = list(read_content(message))
    typed: list[Part] = []
    context: list[Part] = []
    for part in parts:
        text = part.fields.get("text") if part.type == "text" else None
        queries = _QUERY.findall(text) if isinstance(text, str) else []
        if not queries:
            (context if isinstance(text, str) and _INJECTED.match(text) else typed).append(part)
            continue
        typed += [Part("text", {"text": query}) for query in queries]
        if around := _QUERY.sub("", text or "").strip():
            context.append(Part("text", {"text": around}))
    is_typed = not context or any(part.type == "text" for part in typed)
    return (HUMAN, PROMPT, [*typed, *context]) if is_typed else (INJECTED, META, parts)


def read_content(message: Mapping[str, Any]) -> Iterator[Part]:
    """Convert the content of a message: a text, or a list of parts."""
    content = message.get("content")
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        yield _read_block(block, message)


def _read_block(block: object, message: Mapping[str, Any]) -> Part:
    fields = {"type": "text", "text": block} if isinstance(block, str) else block if isinstance(block, dict) else {}
    call, text = text_field(fields, "toolCallId"), fields.get("text")
    known = {} if call is None else {"call_id": call}
    match fields.get("type"):
        case "text" if isinstance(text, str):
            return Part("text", {"text": text})
        case "reasoning" | "redacted-reasoning" if isinstance(fields.get("text", fields.get("data")), str):
            opaque = text_field(fields, "signature") or text_field(fields, "data")
            words = {"text": text} if isinstance(text, str) else {}
            return Part("reasoning", words if opaque is None else {**words, "opaque": opaque})
        case "tool-call" | "tool_use":  # the latter in transcripts
            name = text_field(fields, "toolName") or text_field(fields, "name") or "tool"
            given = read_arguments(fields["args"] if "args" in fields else fields.get("input", {}))
            return Part("tool_call", {**known, "name": name, **given})
        case "tool-result":
            return Part("tool_result", {**known, **_read_output(fields, message)})
        case "image" | "file" as kind if (url := text_field(fields, "image") or text_field(fields, "data")) is not None:
            media = text_field(fields, "mediaType") or text_field(fields, "mimeType")
            if media is not None and not url.startswith(_URLS):
                return Part(str(kind), {"media_type": media, "data": url})
            return read_file(str(kind), url)
    return Part("raw", {"json": block})


def _read_output(block: Mapping[Any, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the output of a tool: its text, or the contents that it was given as; and whether the call failed."""
    output, shown = block.get("result", block.get("output")), block.get("experimental_content")
    if output is None and isinstance(shown, list):
        texts = [text for each in shown if isinstance(each, dict) and (text := text_field(each, "text")) is not None]
        output = "\n".join(texts) if len(texts) == len(shown) else shown
    fields = {"output": "" if output is None else output}
    code = _EXIT_CODE.match(output) if isinstance(output, str) else None
    if code is not None:
        fields["exit_code"] = int(code[1])
    failed = code is not None and int(code[1]) != 0
    for each in (block, message):
        result = object_field(_options_of(each), "highLevelToolCallResult")
        flags = (each.get("isError"), result.get("isError"), object_field(result, "output").get("isError"))
        failed = failed or any(flag is True for flag in flags)
    return {**fields, "is_error": True} if failed else fields
