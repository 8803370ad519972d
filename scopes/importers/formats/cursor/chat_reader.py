"""Read the rows of a chat of Cursor's command line: its messages have the shape of the AI SDK of Vercel.

A blob in protobuf that the root or another blob names has the same chat in another form, and stays a state. Those that
nothing names, and all if no message is JSON, count as not parsed. A message that only older roots have was taken back
or replaced by a summary, and stays a state. Messages have no time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.errors import CannotImport
from scopes.importers.formats.base import Source
from scopes.importers.formats.collection import Row, begins_with_row, read_row
from scopes.importers.formats.cursor.cells import read_object
from scopes.importers.formats.cursor.chat_parts import model_of, read_content, read_user
from scopes.importers.formats.cursor.chat_rows import message_ids, named_blobs, read_about, workspace_of
from scopes.importers.formats.cursor.editor_parts import read_directory, read_time
from scopes.importers.formats.cursor.names import BLOBS, CHAT_DATABASE, META, NAME
from scopes.importers.formats.cursor.protobuf import read_fields
from scopes.importers.formats.events import EDITION, FILE, Event, Session
from scopes.importers.formats.fields import object_field, short_word, text_field
from scopes.importers.formats.records import Record, walk_records
from scopes.importers.formats.run_builder import ANSWER, INJECTED, RESULTS, TOOL, RunBuilder
from scopes.model.message import Author

_AGENT = Author(NAME, "agent")


def is_chat_row(head: bytes) -> bool:
    """Return True if a source begins with what a chat of the command line is."""
    return begins_with_row(head, [META]) and (b"agentId" in head or b"latestRootBlobId" in head)


def walk_chat_rows(source: Source) -> Iterator[Event]:
    """Yield the events of a chat. Its first rows, up to the root, tell what it is."""
    head: list[tuple[Record, Row | None]] = []
    reader: _Reader | None = None
    with source.open() as stream:
        for record in walk_records(stream, source.size):
            row = read_row(record.value)
            if reader is None and row is not None and row.table == META:
                head.append((record, row))
                continue
            if reader is None:
                reader = _Reader([row for _, row in head if row is not None], row)
                yield reader.session
                for each in head:
                    yield from reader.read(*each)
            yield from reader.read(record, row)
    if reader is None:
        reader = _Reader([row for _, row in head if row is not None], None)
        yield reader.session
        for each in head:
            yield from reader.read(*each)
    yield from reader.finish()
    if reader.has_damaged_root:
        text = f"{source.path}: the list of its messages is missing or damaged"
        raise CannotImport(text, hint="import its transcript in ~/.cursor/projects, if it is there")


class _Reader:
    """Turns the rows of a chat into events."""

    def __init__(self, head: list[Row], first: Row | None) -> None:
        about = read_about([row.columns for row in head])
        self._root = text_field(about, "latestRootBlobId")
        root = _content_of(first) if first is not None and first.columns.get("id") == self._root else b""
        self._has_root = bool(root) and read_fields(root) is not None
        self._listed = frozenset(message_ids(root))
        self._named = set(named_blobs(root))
        self.unlisted = 0
        self._title = text_field(about, "name")
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = read_directory(workspace_of(root))
        self.session = Session(
            format=NAME,
            native_id=text_field(about, "agentId") or "unknown",
            created=read_time(about.get("createdAt")),
            cwd=self._builder.cwd,
            title=self._title,
            details={FILE: CHAT_DATABASE, EDITION: 1},
        )

    @property
    def has_damaged_root(self) -> bool:
        """Return True if there are messages, but not the root, which says what they are and in which order."""
        return self.unlisted > 0 and not self._has_root

    def read(self, record: Record, row: Row | None) -> Iterator[Event]:
        """Read the next row; yield the events that are complete."""
        if row is None:
            self._builder.reject(record, "not a row")
        elif row.table == META:
            self._builder.add_state(record, META)
        elif row.table == BLOBS:
            self._read_blob(record, row)
        else:
            self._builder.reject(record, f"a row of {row.table[:64]!a}")
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(title=self._title)

    def _read_blob(self, record: Record, row: Row) -> None:
        name, state = text_field(row.columns, "id") or "", record._replace(value=None)
        message = read_object(row.columns.get("data"))
        if row.columns.get("data") is None:
            self._builder.reject(record, "a message that the store does not have")
        elif message is not None and name in self._listed:
            self._read_message(record, message, name)
        elif message is not None and "role" in message:
            self.unlisted += 1
            self._builder.add_state(state, "message/not-in-root")
        elif name == self._root:
            self._builder.add_state(state, "root")
        elif self._listed and name in self._named:
            self._named.update(named_blobs(_content_of(row)))
            self._builder.add_state(state, "blob")
        else:
            self._builder.reject(record, "a blob that is no message in JSON")

    def _read_message(self, record: Record, message: Mapping[str, Any], name: str) -> None:
        options = object_field(object_field(message, "providerOptions"), NAME)
        match message.get("role"):
            case "system":
                found = self._builder.begin(record, INJECTED, "system", read_content(message))
            case "user":
                author, kind, parts = read_user(message)
                found = self._builder.begin(record, author, kind, parts)
            case "assistant":
                found = self._builder.begin(record, _AGENT, ANSWER, read_content(message))
                found.model = model_of(message) or found.model
            case "tool" if self._builder.continues(RESULTS) is not None and self._builder.open is not None:
                found = self._builder.open
                self._builder.add(record, read_content(message))
            case "tool":
                found = self._builder.begin(record, TOOL, RESULTS, read_content(message))
            case _:
                self._builder.reject(record, f"a message of the role {short_word(message, 'role')}")
                return
        found.add_ids(name, text_field(options, "requestId"))


def _content_of(row: Row) -> bytes:
    """Return the content of a blob, which is text in its line if it is UTF-8."""
    data = row.columns.get("data")
    return data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass") if isinstance(data, str) else b""
