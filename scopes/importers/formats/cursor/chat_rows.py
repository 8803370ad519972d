"""Where the command line of Cursor keeps a chat: `~/.cursor/chats/WORKSPACE/CHAT/store.db`, one database for each.

Cursor publishes nothing about this, and no database of a real Cursor with messages was seen. What is known was found
out by others: corveil/crow#1105, kenn-io/agentsview#1664 (internal/parser/cursor_store.go), stablyai/orca#11370,
juspay/neurolink#1604, and the tests of chenhg5/tape:

    meta   one row, hexadecimal JSON: agentId, latestRootBlobId, name, mode, createdAt, lastUsedModel
    blobs  by the SHA-256 of their content: messages are JSON, all others are protobuf

The root is a message `ConversationStateStructure`; its field 1 has the ids of the messages in their order, 8 those of
the turns, and 9 the workspace. The lines are `meta`, the root, its messages, the blobs that these name, and all others.
Blobs that are JSON become text, so that they can be searched. Keys of encryption are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from scopes.importers.formats.collection import Conversation
from scopes.importers.formats.cursor.cells import encode_cells, read_object, read_text
from scopes.importers.formats.cursor.names import BLOBS, META, NAME
from scopes.importers.formats.cursor.protobuf import read_fields, walk_contents
from scopes.importers.formats.database import Database

_ID_BYTES = 32
_MESSAGES, _WORKSPACE = 1, 9  # fields of a root
_UNKNOWN = "unknown"  # of a chat without an id, which has no message that could be found


class CursorChatDatabase:
    """`store.db` of a chat."""

    format = NAME
    tables: tuple[Mapping[str, tuple[str, ...]], ...] = (
        MappingProxyType({BLOBS: ("id", "data"), META: ("key", "value")}),
    )

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield the chat."""
        rows = [{**row, "value": decode_meta(row["value"])} for row in database.walk(META, order=("key",))]
        about = read_about(rows)
        name = about.get("agentId")
        messages: set[str] = set()
        yield Conversation(
            name if isinstance(name, str) and name else _UNKNOWN, _walk_lines(database, rows, about, messages), messages
        )


def decode_meta(cell: object) -> object:
    """Return a cell of `meta` as the JSON that it has in hexadecimal digits; other cells as they are."""
    text = read_text(cell)
    try:
        decoded = None if text is None else bytes.fromhex(text)
    except ValueError:
        return cell
    return cell if decoded is None or read_object(decoded) is None else read_text(decoded)


def read_about(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what `meta` says of the chat: one object, or in other versions a row for each field."""
    documents = [found for row in rows if (found := read_object(row.get("value"))) is not None]
    named = next((found for found in documents if isinstance(found.get("agentId"), str)), None)
    if named is not None:
        return named
    return {key: row.get("value") for row in rows if isinstance(key := row.get("key"), str)}


def message_ids(root: bytes) -> list[str]:
    """Return the ids of the messages that a root has."""
    fields = read_fields(root) or []
    return [content.hex() for number, content in fields if number == _MESSAGES and len(content) == _ID_BYTES]


def workspace_of(root: bytes) -> str | None:
    """Return the URI of the first workspace that a root names."""
    fields = read_fields(root) or []
    return next((read_text(content) for number, content in fields if number == _WORKSPACE), None)


def named_blobs(blob: bytes) -> list[str]:
    """Return everything in a blob that may be the id of another one."""
    return list(dict.fromkeys(content.hex() for content in walk_contents(blob) if len(content) == _ID_BYTES))


def _walk_lines(
    database: Database, rows: list[dict[str, Any]], about: Mapping[str, Any], messages: set[str]
) -> Iterator[bytes]:
    for row in rows:
        yield encode_cells(META, row)
    blobs = _Blobs(database)
    root = about.get("latestRootBlobId")
    if isinstance(root, str):
        data = next((row["data"] for row in database.walk(BLOBS, "id", root)), None)
        yield from blobs.walk(root)
        for name in dict.fromkeys(message_ids(data) if isinstance(data, bytes) else ()):
            messages.add(name)
            yield from list(blobs.walk(name)) or [encode_cells(BLOBS, {"id": name, "data": None})]
    yield from blobs.walk_named()
    for row in database.walk(BLOBS, order=("id",)):
        if row["id"] not in blobs.known:
            yield encode_cells(BLOBS, row)


class _Blobs:
    """The lines of blobs, each once, and the blobs that are named in them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.known: set[str] = set()
        self._named: deque[str] = deque()

    def walk(self, name: str) -> Iterator[bytes]:
        """Yield the line of a blob; none if it is not there."""
        for row in self._database.walk(BLOBS, "id", name) if name not in self.known else ():
            self.known.add(name)
            if isinstance(row["data"], bytes) and read_object(row["data"]) is None:
                self._named.extend(named_blobs(row["data"]))
            yield encode_cells(BLOBS, row)

    def walk_named(self) -> Iterator[bytes]:
        """Yield the lines of all blobs that are named in others."""
        while self._named:
            yield from self.walk(self._named.popleft())
