"""Cells of Cursor's databases as text: without the keys of its encryption, and with each bubble by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.collection import encode_row
from scopes.importers.formats.records import decode, decode_first, decode_text, find_value_end, skip_blanks

_KEY = re.compile(r'("\w{0,80}[eE]ncryptionKey"\s*:\s*)"(?:[^"\\]|\\.)*"', re.DOTALL)


def read_text(cell: object) -> str | None:
    """Return a cell as text, which Cursor keeps as text or as bytes; None if it is none."""
    if isinstance(cell, bytes):
        cell = decode_text(cell)
    return cell if isinstance(cell, str) else None


def read_object(cell: object) -> dict[str, Any] | None:
    """Decode a JSON object in a cell; None if it is none."""
    text = read_text(cell)
    try:
        value = None if text is None else decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def encode_cells(table: str, columns: Mapping[str, object]) -> bytes:
    """Return the line of a row: bytes that are text become text, so that they can be searched."""
    return encode_row(table, {name: _readable(cell) for name, cell in columns.items()})


def walk_list(text: str) -> Iterator[str]:
    """Yield the texts of the elements of a JSON array, or of the values of an object.

    Raises:
        ValueError, RecursionError, IndexError: it is damaged, or is neither.
    """
    if text[:1] == "{":
        yield from (text[begin:end] for _, begin, end in _walk_members(text))
        return
    if text[:1] != "[":
        raise ValueError("not a list")
    position = skip_blanks(text, 1)
    while text[position] != "]":
        end = find_value_end(text, position)
        yield text[position:end]
        position = _skip_comma(text, end)


def cut_out(text: str, *names: str) -> tuple[str, list[str]]:
    """Return a JSON object without the elements of its lists with these names, and the texts of the elements.

    An object that cannot be read so is returned as it is, without elements.
    """
    elements: list[str] = []
    rest, reached = [], 0
    try:
        for name, begin, end in _walk_members(text):
            if name in names and text[begin] in "[{":
                elements += walk_list(text[begin:end])
                rest.append(f"{text[reached : begin + 1]}{text[end - 1]}")
                reached = end
    except (ValueError, RecursionError, IndexError):
        return text, []
    return f"{''.join(rest)}{text[reached:]}", elements


def _walk_members(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the names of the members of a JSON object, and where their values begin and end."""
    position = skip_blanks(text, 0)
    if text[position] != "{":
        raise ValueError("not an object")
    position = skip_blanks(text, position + 1)
    while text[position] != "}":
        name, position = decode_first(text, position)
        position = skip_blanks(text, position)
        if not isinstance(name, str) or text[position] != ":":
            raise ValueError("not a member")
        begin = skip_blanks(text, position + 1)
        end = find_value_end(text, begin)
        yield name, begin, end
        position = _skip_comma(text, end)


def _skip_comma(text: str, position: int) -> int:
    position = skip_blanks(text, position)
    if text[position] == ",":
        return skip_blanks(text, position + 1)
    if text[position] in "]}":
        return position
    raise ValueError("neither a comma nor an end")


def _readable(cell: object) -> object:
    text = read_text(cell)
    return cell if text is None else _KEY.sub(r'\1""', text)
