"""Lines of JSON for what has no lines of its own: rows of a database, and the files of a folder.

A conversation in a database becomes one line for each of its rows, in a fixed order, so that equal rows are equal
bytes on every machine. Text is written as it is, bytes and text that is not UTF-8 as base64.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
_BYTES, _TEXT, _REAL = "bytes", "text", "real"  # the keys of what JSON cannot write


class InvalidText(NamedTuple):
    """Text of a database that is not UTF-8."""

    data: bytes


class Row(NamedTuple):
    """A row of a table, or a file of a folder: its name, and its columns or its content."""

    table: str
    columns: dict[str, Any]


def decode_text(data: bytes) -> str | InvalidText:
    """Decode the text of a cell."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return InvalidText(data)


def encode_row(table: str, columns: Mapping[str, Any]) -> bytes:
    """Return the line of a row: its columns in the order of their names."""
    row = {name: _encode_cell(columns[name]) for name in sorted(columns)}
    return _ENCODER.encode({"table": table, "row": row}).encode("utf-8", "backslashreplace") + b"\n"


def encode_file(name: str, content: bytes) -> bytes:
    """Return the line of a file; `name` is its path in the folder, with slashes."""
    return _ENCODER.encode({"file": name, "content": _encode_cell(decode_text(content))}).encode() + b"\n"


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
