r"""Select fields of a result: keys and dotted paths in the rows of its JSON, and columns of its text form.

A template of the user writes them as rows: `--format '{id}\t{title}'`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scopes.errors import Invalid
from scopes.render.document import make_document
from scopes.render.table import render_text
from scopes.render.view import Cell, Column, View, ViewOptions, plain_text
from scopes.result import Result, Stream
from scopes.sanitize import clean, clean_line

if TYPE_CHECKING:
    from scopes.history.messages import MessageHeader

Row = Mapping[str, Any]

_TOKEN = re.compile(r"(?P<text>[^{}\\]+)|(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|\\(?P<escape>.)|.", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "0": "\0", "\\": "\\"}

# Lists of a document or of its rows, each entry of which is a row together with the rest of it.
_JOINED = {"conversation-commits": ("links",), "why": ("answers", "candidates")}
_ENVELOPE = ("scopes", "kind", "notes")
# Lists of words in JSON that rows have as a line for a shell, which is under another key.
_SHELL_LINES = {"resumption": {"command": "shell"}}
_IN_PIECES = frozenset({"evidence", "snippet", "operations"})  # pieces in JSON; rows take the column of the text form


def find_rows_key(document: Row, result: Result) -> str | None:
    """Return the key of a document's rows; None if the document itself is the row."""
    if document["kind"] == "search":
        return "messages_found"  # which the last line of a search does not have
    return None if result.is_one_row or result.rows_in not in document else result.rows_in


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
        document: Row = make_document(item)
        yield from _pick(item, options, _rows_of(document, item), fields, plain=plain)


def reduce_document(document: Row, result: Result, options: ViewOptions, fields: Sequence[str]) -> dict[str, object]:
    """Return the document of a result with only these fields in it or in its rows; `scopes`, `kind`, `notes` stay."""
    envelope = {key: document[key] for key in _ENVELOPE if key in document}
    key = find_rows_key(document, result)
    if key is not None and key not in document:
        return dict(document)
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


class _ColumnView(View):
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


def template_fields(text: str) -> list[str]:
    """Return the names of the fields of a template, each once."""
    names = (token["field"] for token in _TOKEN.finditer(text))
    return list(dict.fromkeys(name for name in names if name is not None))


def compile_template(text: str, fields: Sequence[str]) -> Callable[[Mapping[str, str]], str]:
    r"""Return a function that fills a template: `{name}` is a field, `{{` and `}}` are braces, `\t \n \0 \\` escapes.

    Raises:
        Invalid: an unknown field or escape, or a single brace.
    """
    parts: list[tuple[str, str]] = []  # a literal text and the field after it
    literal = ""
    for token in _TOKEN.finditer(text):
        if token["field"] is None:
            literal += _literal(token, text)
        else:
            parts.append((literal, known_field(token["field"], fields)))
            literal = ""

    def fill(values: Mapping[str, str]) -> str:
        return "".join(before + values[field] for before, field in parts) + literal

    return fill


def _literal(token: re.Match[str], template: str) -> str:
    if token["text"] is not None:
        return clean(token["text"])
    if token["brace"] is not None:
        return token["brace"][0]
    if token["escape"] in _ESCAPES:
        return _ESCAPES[token["escape"]]
    hint = r"write {{ and }} for braces, \t \n \0 \\ for a tab, a newline, a NUL and a backslash"
    raise Invalid(f"the template {template!a} has a stray {token[0]!a} at position {token.start() + 1}", hint=hint)


def known_field(name: str, fields: Sequence[str], *, braces: bool = True) -> str:
    """Return the name of a field if it is known.

    Raises:
        Invalid: it is not; the hint lists the known ones. With `braces` it was named by a template.
    """
    if name in fields:
        return name
    near = difflib.get_close_matches(name, fields, n=1)
    meant = f"did you mean {f'{{{near[0]}}}' if braces else near[0]}? " if near else ""
    where = " for a template" if braces else ""
    raise Invalid(f"there is no field {name!a}{where}", hint=f"{meant}fields: {', '.join(fields)}")
