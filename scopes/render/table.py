"""Write a Result as its class describes it: as rows or lines in a pipe, as a table or a sentence on a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from scopes.clock import in_seconds, now_nanoseconds
from scopes.render import view as plain_view
from scopes.render.color import Style
from scopes.render.document import keys_of, plain
from scopes.render.relative_time import ago
from scopes.render.view import Span, View
from scopes.result import Column, Result, Stream, short_id
from scopes.sanitize import PRESENTATION, clean_line

UNDO_HINT = "undo with: scopes undo"
_UNKNOWN_TIME = "-"
_STYLES: dict[str, Style] = {"id": "id", "branch": "branch", "time": "time"}
_WORDS: dict[Style, str] = {
    "good": "available merged installed applied approved done passed ok resolved",
    "warn": "away waiting open pending outdated stale",
    "bad": "failed damaged rejected missing error expired",
    "dim": "closed withdrawn dismissed",
}
_STATES: dict[str, Style] = {word: style for style, words in _WORDS.items() for word in words.split()}
_RIGHT = frozenset({"count", "size", "money", "share"})
_WHOLE = frozenset({"id", "time", "count", "size", "money", "share", "state"})  # never shortened for want of room
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_WITHOUT_PRESENTATION = dict.fromkeys(map(ord, f"{PRESENTATION}\u200d"))  # terminals disagree on their widths


def write_result(result: Result, view: View) -> None:
    """Write a result that has no renderer of its own.

    Raises:
        TypeError: its class says nothing about itself.
    """
    kind = type(result)
    if result.sentence:
        _write_outcome(result, view)
    elif kind.rows_in:
        _write_rows(result, view)
    elif kind.columns:
        _write_lines(result, view)
    elif result.answer:
        view.exact(result.answer.removesuffix("\n") + "\n")
    else:
        raise TypeError(f"{kind.__name__} has no text rendering")


def _write_outcome(result: Result, view: View) -> None:
    """Write the sentence; in a pipe the answer, or the values of the columns as a row."""
    if view.terminal:
        view.sentence(result.sentence)
        _write_hints(result, view)
    elif result.answer:
        view.line(result.answer)
    else:
        _write_pipe_rows(type(result).columns, [result], view)


def _write_hints(result: Result, view: View) -> None:
    if view.hints and result.next_step:
        view.sentence(Span(result.next_step, "dim"))
    if view.hints and getattr(result, "operation", None) is not None:
        view.sentence(Span(UNDO_HINT, "dim"))


def _write_rows(result: Result, view: View) -> None:
    kind = type(result)
    rows: Iterable[Any] = result.items if isinstance(result, Stream) else getattr(result, _rows_attribute(kind))
    if not view.terminal:
        _write_pipe_rows(kind.columns, rows, view)
        return
    columns = [column for column in kind.columns if column.on in {"", "terminal"}]
    now = now_nanoseconds()
    cells = [[terminal_cell(value, column, now) for value, column in zip(row, columns, strict=True)]
             for row in _values(columns, rows)]  # fmt: skip
    if cells:
        view.draw(_table(columns, cells))
    elif kind.empty:
        view.line(kind.empty)
    _write_hints(result, view)


def _rows_attribute(kind: type[Result]) -> str:
    return next(key.attribute for key in keys_of(kind) if key.name == kind.rows_in)


def _write_pipe_rows(columns: Sequence[Column], rows: Iterable[Any], view: View) -> None:
    seen = [column for column in columns if column.on != "terminal"]
    texts = ([pipe_text(value, c) for value, c in zip(row, seen, strict=True)] for row in _values(seen, rows))
    view.rows([plain_view.Column(column.heading, hidden=column.on == "template") for column in seen], texts)


def _write_lines(result: Result, view: View) -> None:
    """Write a line for each column that has a value: its heading and the value. Texts apart are below."""
    seen = [column for column in type(result).columns if column.on in {"", "terminal" if view.terminal else "pipe"}]
    values = zip(seen, next(_values(seen, [result])), strict=True)
    found = [(column, value) for column, value in values if value not in (None, "", [], {})]
    now = now_nanoseconds()
    below = [pair for pair in found if pair[0].form in {"body", "lines"}]
    lines = [pair for pair in found if pair not in below]
    if view.terminal:
        view.draw(_grid([(column.heading, terminal_cell(value, column, now)) for column, value in lines]))
    else:
        for column, value in lines:
            view.line(f"{column.heading}: {pipe_text(value, column)}")
    for column, value in below:
        view.line()
        if column.form == "body":
            view.body(str(value), indent=4)
        else:
            view.line(Span(f"{column.heading}:", "key"))
            for item in value:
                view.hanging(pipe_text(item, column), indent=4)
    if below and view.terminal and view.hints:
        view.line()
    _write_hints(result, view)


def _values(columns: Sequence[Column], rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the values of the columns of each row."""
    readers = [_reader(column.path) for column in columns]
    for row in rows:
        document = plain(row)
        yield [read(document, row) for read in readers]


def _reader(path: str) -> Callable[[Mapping[str, Any], Any], Any]:
    """Return a function that finds the value at a path in the JSON of a row, otherwise among its attributes."""
    first, *others = path.split(".")

    def read(document: Mapping[str, Any], row: Any) -> Any:
        value = document[first] if first in document else plain(getattr(row, first, None))
        for name in others:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    return read


def pipe_text(value: Any, column: Column) -> str:
    """Return the value of a column as text for a pipe: whole ids, times in UTC, numbers without commas."""
    match value:
        case None:
            return _UNKNOWN_TIME if column.form == "time" else ""
        case bool():
            return "yes" if value else "no"
        case str():
            return in_seconds(value) if column.form == "time" else value
        case float():
            return f"{value:g}"
        case list() if not any(isinstance(item, dict | list) for item in value):
            return ",".join(map(str, value))
        case list() | dict():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def terminal_cell(value: Any, column: Column, now: int) -> Span:
    """Return the value of a column as people read it."""
    form = column.form
    style = _STYLES.get(form, "")
    text = pipe_text(value, column)
    if form == "state":
        style = _STATES.get(text, "")
    elif form == "id":
        text = short_id(text)
    elif form == "time" and value is not None:
        text = ago(text, now)
    elif isinstance(value, list) and form == "text":
        text = ", ".join(map(str, value)) if value and isinstance(value[0], str) else text
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = _number(value, form)
    return Span(clean_line(text).translate(_WITHOUT_PRESENTATION), style)


def _number(value: Any, form: str) -> str:
    if form == "size":
        amount, unit = float(value), 0
        while amount >= 1024 and unit < len(_UNITS) - 1:
            amount, unit = amount / 1024, unit + 1
        return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{value} B"
    if form == "money":
        return f"${value:,.2f}"
    if form == "share":
        return f"{value:.0%}"
    return f"{value:,}" if form == "count" else f"{value:g}" if isinstance(value, float) else str(value)


def _table(columns: Sequence[Column], cells: Sequence[Sequence[Span]]) -> Any:
    """Return a table for a terminal; columns without any value are left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    kept = [number for number in range(len(columns)) if any(row[number].text for row in cells)]
    for number in kept:
        column = columns[number]
        table.add_column(
            Text(column.heading),
            justify="right" if column.form in _RIGHT else "left",
            no_wrap=column.form in _WHOLE,
            overflow="ellipsis",
        )
    for row in cells:
        table.add_row(*(_text(row[number], whole_line=True) for number in kept))
    return table


def _grid(lines: Sequence[tuple[str, Span]]) -> Any:
    """Return names and values below each other."""
    from rich.table import Table

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for heading, value in lines:
        grid.add_row(heading, _text(value, whole_line=False))
    return grid


_RICH_STYLES: dict[Style, str] = {
    "": "", "id": "yellow", "branch": "green", "time": "dim", "dim": "dim",
    "good": "green", "bad": "red", "warn": "yellow",
}  # fmt: skip


def _text(span: Span, *, whole_line: bool) -> Any:
    """Return a cell; one of a whole line is cut with an ellipsis, never wrapped."""
    from rich.text import Text

    style = _RICH_STYLES[span.style]
    return Text(span.text, style, overflow="ellipsis", no_wrap=True) if whole_line else Text(span.text, style)
