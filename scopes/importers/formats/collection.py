"""Collections: a database or a folder with many conversations, each of which becomes a source of its own.

The bytes of such a source are lines of JSON: one for each row or file of its conversation, in a fixed order, so that
equal rows are equal bytes on every machine. Text is written as it is, bytes and text that is not UTF-8 as base64. One
of the formats reads them like a file.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scopes.importers.formats.records import InvalidText, decode_text
from scopes.regular_file import read_regular

if TYPE_CHECKING:
    from scopes.importers.formats.database import Database

SEPARATOR = "#"  # between the path of a collection and the id of a conversation
MAX_FILE_BYTES = 64 << 20
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
_BYTES, _TEXT, _REAL = "bytes", "text", "real"  # the keys of what JSON cannot write


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a collection.

    name: the agent's id of it
    lines: its rows; they are read once
    messages: the agent's ids of its messages, complete when all lines were read
    """

    name: str
    lines: Iterable[bytes]
    messages: set[str]


class DatabaseCollection(Protocol):
    """Databases of an agent."""

    @property
    def format(self) -> str:
        """Name of the format that reads the lines."""

    @property
    def tables(self) -> tuple[Mapping[str, tuple[str, ...]], ...]:
        """Tables with columns by which such a database is recognized; one of several sets is enough."""

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield the conversations in the order of their ids; the lines of each are read before the next one."""


class FolderCollection(Protocol):
    """Folders of an agent in which every record is a file."""

    @property
    def format(self) -> str:
        """Name of the format that reads the lines."""

    @property
    def subfolders(self) -> frozenset[str]:
        """The names of subfolders that such a folder has."""

    def recognizes(self, folder: str) -> bool:
        """Return True if a folder with these subfolders is one; False if it does not have them."""

    def explain_incomplete(self, folder: str) -> str | None:
        """Return what such a folder lacks without which it is not recognized; None if it is another one, or whole."""

    @property
    def depth(self) -> int:
        """How many folders are above a file, up to and including the collection."""

    def walk_conversations(self, folder: str) -> Iterator[Conversation]:
        """Yield the conversations in the order of their ids; the lines of each are read before the next one."""


class Row(NamedTuple):
    """A row of a table, or a file of a folder: its name, and its columns or its content."""

    table: str
    columns: dict[str, Any]


def encode_row(table: str, columns: Mapping[str, Any]) -> bytes:
    """Return the line of a row: its columns in the order of their names."""
    row = {name: _encode_cell(columns[name]) for name in sorted(columns)}
    return _ENCODER.encode({"table": table, "row": row}).encode("utf-8", "backslashreplace") + b"\n"


def encode_file(name: str, content: bytes) -> bytes:
    """Return the line of a file; `name` is its path in the folder, with slashes."""
    return _ENCODER.encode({"file": name, "content": _encode_cell(decode_text(content))}).encode() + b"\n"


def walk_file(folder: str, path: str, name: str) -> Iterator[bytes]:
    """Yield the line of a file of a folder, unless it is a link, which may lead out of the folder, or is not there."""
    whole = os.path.join(folder, path)
    if os.path.islink(whole):
        return
    try:
        content = read_regular(whole, MAX_FILE_BYTES)
    except FileNotFoundError:
        return
    yield encode_file(name, content)


def read_row(value: object) -> Row | None:
    """Return the row or file of a line; None if it is no such line."""
    match value:
        case {"table": str(table), "row": dict(row)}:
            return Row(table, {name: _decode_cell(cell) for name, cell in row.items()})
        case {"file": str(name), "content": content}:
            return Row(name, {"content": _decode_cell(content)})
    return None


def begins_with_row(head: bytes, tables: Iterable[str]) -> bool:
    """Return True if a source begins with a row of one of the tables."""
    return head.startswith(tuple(f'{{"table":"{table}","row":{{'.encode() for table in tables))


def _encode_cell(value: object) -> Any:
    if isinstance(value, InvalidText):
        return {_TEXT: b64encode(value.data).decode("ascii")}
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode("ascii")}
    if isinstance(value, float) and not isfinite(value):
        return {_REAL: repr(value)}
    return value


def _decode_cell(value: object) -> Any:
    """Return the value of a cell; bytes for text that is not UTF-8."""
    match value:
        case {"bytes": str(data)} | {"text": str(data)}:
            try:
                return b64decode(data, validate=True)
            except ValueError:
                return None
        case {"real": str()} | dict() | list():
            return None
    return value
