"""Select fields of a result's JSON: the rows of a document, dotted paths in a row, and their text in a cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scopes.render.dispatch import to_wire
from scopes.render.template import compile_template, template_fields
from scopes.render.view_options import ViewOptions
from scopes.result import Result, Stream
from scopes.sanitize import clean, clean_line

Row = Mapping[str, Any]

# The key with the rows of a document; of other documents it is the last list of a kind that ends in `-list`.
_ROWS = {
    "blame": "rows",
    "change-log": "changes",
    "conversation-list": "conversations",
    "doctor": "checks",
    "file-list": "files",
    "log": "messages",
    "memory-actions": "actions",
    "memory-search": "hits",
    "search": "messages_found",
    "token-status": "encodings",
    "verification": "findings",
}
_ENVELOPE = ("scopes", "kind", "notes")


def find_rows_key(document: Row) -> str | None:
    """Return the key of a document's rows; None if the document itself is the row."""
    kind = str(document["kind"])
    if kind in _ROWS:
        return _ROWS[kind]
    lists = [key for key, value in document.items() if isinstance(value, list)]
    return lists[-1] if kind.endswith("-list") and lists else None


def walk_rows(result: Result, options: ViewOptions) -> Iterator[Row]:
    """Yield the rows of a result; of a stream, those of its items as they are produced."""
    for item in result.items if isinstance(result, Stream) else (result,):
        document: Row = to_wire(item, options)
        key = find_rows_key(document)
        if key is None:
            yield document
        else:
            yield from document.get(key, ())


def reduce_document(document: Row, fields: Sequence[str]) -> dict[str, object]:
    """Return a document with only these fields in it or in its rows; `scopes`, `kind` and `notes` stay."""
    envelope = {key: document[key] for key in _ENVELOPE if key in document}
    key = find_rows_key(document)
    if key is not None and key not in document:
        return dict(document)  # the last line of a search, which has no rows
    if key is None:
        return envelope | _pick(document, fields)
    return envelope | {key: [_pick(row, fields) for row in document.get(key, ())]}


def find_value(row: Row, field: str) -> Any:
    """Return the value at a dotted path; None if it is absent."""
    value: Any = row
    for name in field.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def cell_text(value: object, *, multiline: bool = False) -> str:
    """Return a value as safe text: lists of words with commas, objects as JSON; line breaks only if `multiline`."""
    if value is None:
        return ""
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        return ",".join(cell_text(item, multiline=multiline) for item in value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean(text) if multiline else clean_line(text)


def format_rows(result: Result, options: ViewOptions, form: str | Sequence[str], end: str) -> Iterator[str]:
    """Yield each row as text: by a template, or some fields with tabs between them.

    Line breaks stay in texts if NUL ends the rows.
    """
    fields = template_fields(form) if isinstance(form, str) else form
    fill = compile_template(form, fields) if isinstance(form, str) else None
    for row in walk_rows(result, options):
        cells = [cell_text(find_value(row, field), multiline=end == "\0") for field in fields]
        yield ("\t".join(cells) if fill is None else fill(dict(zip(fields, cells, strict=True)))) + end


def _pick(row: Row, fields: Sequence[str]) -> dict[str, object]:
    found = ((field, find_value(row, field)) for field in fields)
    return {field: value for field, value in found if value is not None}
