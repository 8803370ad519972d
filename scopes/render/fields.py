"""Select fields of a result: keys and dotted paths in the rows of its JSON, and columns of its text form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scopes.render.dispatch import render_text, to_wire
from scopes.render.template import compile_template, template_fields
from scopes.render.view import Cell, Column, PlainView, plain_text
from scopes.render.view_options import ViewOptions
from scopes.result import Result, Stream
from scopes.sanitize import clean, clean_line

if TYPE_CHECKING:
    from scopes.history.messages import MessageHeader

Row = Mapping[str, Any]

# The key with the rows of a document; of other documents it is the last list of a kind that ends in `-list`.
_ROWS = {
    "usage": "rows",
    "conversation-list": "conversations",
    "log": "messages",
    "range-diff": "pairs",
    "search": "messages_found",
}
# Lists of a document or of its rows, each entry of which is a row together with the rest of it.
_JOINED = {"conversation-commits": ("links",), "why": ("answers", "candidates")}
_ENVELOPE = ("scopes", "kind", "notes")
# Lists of words in JSON that rows have as a line for a shell, which is under another key.
_SHELL_LINES = {"resumption": {"command": "shell"}}
_IN_PIECES = frozenset({"evidence", "snippet", "operations"})  # pieces in JSON; rows take the column of the text form


def find_rows_key(document: Row, result: Result | None = None) -> str | None:
    """Return the key of a document's rows; None if the document itself is the row."""
    if result is not None and result.rows_in:
        return None if result.is_one_row or result.rows_in not in document else result.rows_in
    kind = str(document["kind"])
    if kind in _ROWS:
        return _ROWS[kind]
    lists = [key for key, value in document.items() if isinstance(value, list) and key not in _ENVELOPE]
    return lists[-1] if kind.endswith("-list") and lists else None


def find_joined_keys(document: Row) -> tuple[str, ...]:
    """Return the keys of the lists of a document, or of its rows, whose entries are rows together with the rest."""
    return _JOINED.get(str(document["kind"]), ())


def _rows_of(document: Row, result: Result) -> Sequence[Row]:
    """Return the rows of a document: the entries of a list, or the document itself, perhaps with one entry each."""
    key = find_rows_key(document, result)
    if key is not None:
        rows: Sequence[Row] = document.get(key, ())
        return [each for row in rows for each in _walk_turns(row)] if find_joined_keys(document) else rows
    return [{**document, **entry} for entry in _joined_entries(document)] or [document]


def _walk_turns(commit: Row) -> Iterator[Row]:
    """Yield the rows of a commit of a conversation: one for each turn of each link, as the text form has them."""
    for link in commit["links"]:
        turns = [{"turn": each["number"], "message": each["message"]} for each in link["turns"]]
        for turn in turns or [{}]:
            yield {**commit, **link, **turn}


def _joined_entries(document: Row) -> list[Row]:
    return [entry for key in find_joined_keys(document) for entry in document.get(key, ())]


def walk_rows(result: Result, options: ViewOptions, fields: Sequence[str], *, plain: bool = False) -> Iterator[Row]:
    """Yield the values of the fields of each row of a result; of a stream, those of its items as they are produced.

    With `plain`, what JSON has in pieces is plain text, such as a snippet with its marks, counts by name, or the
    words of a command.
    """
    for item in result.items if isinstance(result, Stream) else (result,):
        document: Row = to_wire(item, options)
        yield from _pick(item, options, _rows_of(document, item), fields, plain=plain)


def reduce_document(document: Row, result: Result, options: ViewOptions, fields: Sequence[str]) -> dict[str, object]:
    """Return the document of a result with only these fields in it or in its rows; `scopes`, `kind`, `notes` stay."""
    envelope = {key: document[key] for key in _ENVELOPE if key in document}
    key = find_rows_key(document, result)
    if key is not None and key not in document:
        return dict(document)  # the last line of a search, which has no rows
    known = {name for entry in _joined_entries(document) for name in entry if name not in document}
    of_entries = [field for field in fields if field in known]
    own = [field for field in fields if field not in of_entries]
    rows = _pick(result, options, [document] if key is None else _rows_of(document, result), own)
    found = [_without_none(row) for row in rows]
    joined = {name: document[name] for name in find_joined_keys(document) if of_entries and name in document}
    entries = {
        name: [_without_none({field: find_value(entry, field) for field in of_entries}) for entry in entries]
        for name, entries in joined.items()
    }
    return envelope | (found[0] if key is None else {key: found}) | entries


def _without_none(row: Row) -> dict[str, object]:
    return {field: value for field, value in row.items() if value is not None}


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


def format_rows(result: Result, options: ViewOptions, template: str, end: str) -> Iterator[str]:
    """Yield each row as text by a template; line breaks stay in texts if NUL ends the rows."""
    fields = template_fields(template)
    fill = compile_template(template, fields)
    for row in walk_rows(result, options, fields, plain=True):
        yield fill({field: cell_text(value, multiline=end == "\0") for field, value in row.items()}) + end


def _pick(
    result: Result, options: ViewOptions, rows: Sequence[Row], fields: Sequence[str], *, plain: bool = False
) -> Iterator[Row]:
    """Yield the values of the fields of each row; those that its JSON lacks are from the columns of the text form."""
    in_pieces = _IN_PIECES if plain else frozenset()
    columns: list[dict[str, str]] | None = None
    for number, row in enumerate(rows):
        lines = _SHELL_LINES.get(str(row.get("kind")), {}) if plain else {}
        values = {field: find_value(row, lines.get(field, field)) for field in fields}
        missing = [f for f, value in values.items() if (value is None and "." not in f) or f in in_pieces]
        if missing and columns is None:
            columns = _read_columns(result, options, len(rows))
        yield values | {field: columns[number].get(field) or values[field] for field in missing if columns}


class _ColumnView(PlainView):
    """Collects the rows of the text form, with those columns that only templates see."""

    def __init__(self, options: ViewOptions) -> None:
        super().__init__(lambda _: None, options=options)
        self.found: list[dict[str, str]] = []

    def rows(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Cell]],
        *,
        title: str | None = None,  # noqa: ARG002  a row has no title
        boxed: bool = False,  # noqa: ARG002  as the title
    ) -> None:
        """Add each row as the texts of its columns."""
        names = [column.field for column in columns]
        self.found += (dict(zip(names, map(plain_text, row), strict=True)) for row in rows)


def _read_columns(result: Result, options: ViewOptions, count: int) -> list[dict[str, str]]:
    """Return the columns of each of `count` rows; nothing if the text form has other rows than the JSON.

    Of one message that is not shown as a row there is the subject.
    """
    view = _ColumnView(options)
    render_text(result, view)
    rows = [row for row in view.found if row.get("offset", "0") == "0"]  # not the messages around a hit
    head: MessageHeader | None = getattr(result, "head", None)
    if head is not None and not rows:
        rows = [{"subject": head.subject}]
    return rows if len(rows) == count else []
