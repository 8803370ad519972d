"""Write a Result as text: by the function for its class, otherwise as its class describes it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from scopes.clock import in_seconds, now_nanoseconds
from scopes.render.document import keys_of, plain
from scopes.render.phrases import UNDO_HINT, UNKNOWN_TIME, ago, full_time
from scopes.render.view import Column as ViewColumn
from scopes.render.view import Span, Style, View
from scopes.result import Column, Lines, Result, format_size, short_id
from scopes.sanitize import clean, clean_line

# The function for each class of Results, and for its subclasses, as `module.function`.
VIEWS: dict[str, str] = {
    "Checked": "check.render_checked",
    "RuleExplained": "check.render_rule_explained",
    "RuleTests": "check.render_rule_tests",
    "RunComparison": "check.render_run_comparison",
    "BlameList": "conflicts.render_blame_list",
    "CollaborationReport": "collaborations.render_collaboration_report",
    "ConflictList": "conflicts.render_conflict_list",
    "ConflictResolved": "conflicts.render_conflict_resolved",
    "ConflictView": "conflicts.render_conflict_view",
    "Budget": "context.render_budget",
    "Context": "context.render_context",
    "HistoryBlock": "context.render_history_block",
    "ConversationView": "show.render_conversation_view",
    "Difference": "diff.render_difference",
    "CommitAccount": "diff.render_commit_account",
    "ConversationList": "list.render_conversation_list",
    "Log": "log.render_log",
    "LogEntry": "log.render_log_entry",
    "FastForwarded": "merge.render_fast_forwarded",
    "MergeConflicted": "merge.render_conflicted",
    "Merged": "merge.render_merged",
    "UpToDate": "merge.render_up_to_date",
    "MessageAmended": "show.render_message_amended",
    "MessageAppended": "show.render_message_appended",
    "MessageView": "show.render_message_view",
    "RangeDifference": "diff.render_range_difference",
    "ReplayConflicted": "merge.render_replay_conflicted",
    "Search": "search.render_search",
    "SearchCoverage": "search.render_search_coverage",
    "SearchHit": "search.render_search_hit",
    "Usage": "usage.render_usage",
    "Why": "why.render_why",
    "WhyLines": "why.render_why_lines",
}


def render_text(result: Result, view: View) -> None:
    """Write a result as text into a view.

    Raises:
        TypeError: there is no function for its class, and it says nothing about itself.
    """
    place = next((VIEWS[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in VIEWS), None)
    if place is None:
        write_result(result, view)
        return
    module, _, function = place.partition(".")
    getattr(import_module(f"scopes.render.{module}"), function)(result, view)


_ID = re.compile(r"(?<![\w-])(?:[0-9a-f]{40}|[a-z2-7]{26})(?![\w-])")  # which people see shortened
_MAX_LINES = 20  # of a list on a terminal
_STYLES: dict[str, Style] = {"id": "id", "branch": "branch", "time": "time"}
_WORDS: dict[Style, str] = {
    "good": "good certain available merged installed applied approved done passed ok resolved",
    "warn": "warning away waiting open pending outdated stale",
    "bad": "failed damaged rejected missing error expired",
    "dim": "closed withdrawn dismissed",
}
_STATES: dict[str, Style] = {word: style for style, words in _WORDS.items() for word in words.split()}
_RIGHT = frozenset({"count", "size", "money", "share"})
_WHOLE = _RIGHT | {"id", "branch", "time", "state"}  # never shortened for want of room
_WRAPPED = frozenset({"prose", "path"})


def write_result(result: Result, view: View) -> None:
    """Write a result that has no renderer of its own.

    Raises:
        TypeError: its class says nothing about itself.
    """
    kind = type(result)
    if kind.rows_in:
        _write_rows(result, view)
    elif result.sentence:
        _write_outcome(result, view)
    elif kind.columns:
        _write_lines(result, view)
    elif kind.answer is not Result.answer:
        if result.answer:
            text = result.answer.expandtabs() if view.terminal else result.answer
            view.exact(text.removesuffix("\n") + "\n")
        _write_remark(result, view)
        _write_hints(result, view)
    else:
        raise TypeError(f"{kind.__name__} has no text rendering")


def _write_outcome(result: Result, view: View) -> None:
    """Write the sentence; in a pipe the answer, or the values of the columns as a row."""
    if not view.terminal:
        _write_to_pipe(result, [result], view)
        return
    _write_sentence(result, view)
    _write_hints(result, view)


def _write_to_pipe(result: Result, rows: Iterable[Any], view: View) -> None:
    """Write the answer if there is one, otherwise the rows; and the remark as a note."""
    if result.answer:
        for line in result.answer.split("\n"):
            view.line(line)
    elif type(result).columns:
        _write_pipe_rows(type(result).columns, rows, view)
    for each in type(result).further:
        _write_pipe_rows(each.columns, _rows(result, each.rows_in), view)
    _write_remark(result, view)


def _lines(text: Lines) -> list[str]:
    """Return the lines that are not empty."""
    return [line for line in ([text] if isinstance(text, str) else text) if line]


def _write_remark(result: Result, view: View) -> None:
    for line in _lines(result.remark):
        view.aside(line)


def _write_sentence(result: Result, view: View) -> None:
    for line in _lines(result.sentence):
        view.sentence(line)


def _write_hints(result: Result, view: View, *, apart: bool = False) -> None:
    """Write what to do next, a line for each command line; `apart` below an empty line."""
    steps = _lines(result.next_step)
    if result.can_undo and getattr(result, "operation", None) is not None:
        steps.append(UNDO_HINT)
    if not steps or not view.terminal or not view.hints:
        return
    if apart:
        view.line()
    for step in steps:
        view.sentence(Span(step, "dim"))


def _write_rows(result: Result, view: View) -> None:
    """Write the rows; on a terminal as a table, with the sentence below it."""
    kind = type(result)
    if not view.terminal:
        _write_to_pipe(result, _rows(result, kind.rows_in), view)
        return
    is_drawn = False
    for name, columns in ((kind.rows_seen or kind.rows_in, kind.columns), *kind.further):
        is_drawn |= _draw_rows(_seen(columns, view, "terminal"), _rows(result, name), view)
    if not is_drawn and kind.empty:
        view.line(kind.empty)
    _write_sentence(result, view)
    _write_hints(result, view, apart=is_drawn and not result.sentence)


def _draw_rows(columns: Sequence[Column], rows: Iterable[Any], view: View) -> bool:
    """Draw a table if it has rows; return whether it has."""
    now = now_nanoseconds()
    cells = [[terminal_cell(value, column, now) for value, column in zip(row, columns, strict=True)]
             for row in _values(columns, rows)]  # fmt: skip
    if not cells or not columns:
        return False
    inside = [n for n, column in enumerate(columns) if column.form != "below" and any(row[n].text for row in cells)]
    view.rows([_view_column(columns[n]) for n in inside], [[row[n] for n in inside] for row in cells])
    for row in cells:
        for cell, column in zip(row, columns, strict=True):
            if column.form == "below" and cell.text:
                view.sentence(row[0], ": ", cell)
    return True


def _rows(result: Result, name: str) -> Iterable[Any]:
    """Return the objects of the rows in a key of the JSON, or in an attribute that the JSON does not have."""
    rows: Iterable[Any]
    for key in keys_of(type(result)):
        if key.name == name:
            rows = key.read(result)
            return rows
    rows = getattr(result, name)
    return rows


def _write_pipe_rows(columns: Sequence[Column], rows: Iterable[Any], view: View) -> None:
    seen = _seen(columns, view, "pipe", "template")
    if not seen:
        return
    texts = ([pipe_text(value, c) for value, c in zip(row, seen, strict=True)] for row in _values(seen, rows))
    heads = [ViewColumn(each.heading, _STYLES.get(each.form, ""), hidden=each.on == "template") for each in seen]
    view.rows(heads, texts)


def _write_lines(result: Result, view: View) -> None:
    """Write a line for each column that has a value: its heading and the value. Texts apart are below."""
    if result.figures and not view.terminal:
        names = ViewColumn("Name"), ViewColumn("Value")
        view.rows(names, ((name, pipe_text(value, Column(name))) for name, value in _walk_figures(result.figures)))
        return
    seen = _seen(type(result).columns, view, "terminal" if view.terminal else "pipe")
    values = zip(seen, next(_values(seen, [result])), strict=True)
    found = [(column, value) for column, value in values if value not in (None, "", [], {})]
    now = now_nanoseconds()
    below = [pair for pair in found if pair[0].form in {"body", "lines"}]
    lines = [pair for pair in found if pair not in below]
    if view.terminal:
        width = max((len(column.heading) for column, _ in lines), default=0)
        for column, value in lines:
            cell = full_time(view, value) if column.form == "time" else terminal_cell(value, column, now)
            view.hanging(cell, start=(Span(f"{column.heading:<{width}}  ", "heading"),))
    else:
        for column, value in lines:
            view.line(f"{column.heading}: {_joined(value) or pipe_text(value, column)}")
    for column, value in below:
        view.line()
        if column.form == "body":
            view.body(str(value), indent=4)
        else:
            view.line(Span(f"{column.heading}:", "key"))
            most = _MAX_LINES if view.terminal and len(value) > _MAX_LINES + 1 else len(value)
            for item in value[:most]:
                view.hanging(terminal_cell(item, column, now) if view.terminal else pipe_text(item, column), indent=4)
            if len(value) > most:
                view.line(Span(f"    … {len(value) - most:,} more", "dim"))
    _write_hints(result, view, apart=True)


def _walk_figures(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each row of figures."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _walk_figures(value, f"{before}{name}.")
        elif isinstance(value, list):
            yield from ((f"{before}{name}", each) for each in value)
        elif value is not None:
            yield f"{before}{name}", value


def _seen(columns: Sequence[Column], view: View, *places: str) -> list[Column]:
    """Return the columns that are seen in some places with the options of the command."""
    return [
        column
        for column in columns
        if column.on in {"", *places} and (not column.option or getattr(view.options, column.option))
    ]


def _values(columns: Sequence[Column], rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the values of the columns of each row."""
    readers = [_reader(column.path) for column in columns]
    for row in rows:
        document = plain(row)
        yield [read(document, row) for read in readers]


def _reader(path: str) -> Callable[[Any, Any], Any]:
    """Return a function that finds the value at a path in the JSON of a row, otherwise among its attributes."""
    names = path.split(".")

    def read(document: Any, row: Any) -> Any:
        value, attribute = document, row
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
            attribute = attribute.get(name) if isinstance(attribute, Mapping) else getattr(attribute, name, None)
        return plain(attribute) if value is None else value

    return read


def pipe_text(value: Any, column: Column) -> str:
    """Return the value of a column as text for a pipe: whole ids, times in UTC, numbers without commas."""
    match value:
        case None:
            return UNKNOWN_TIME if column.form == "time" else ""
        case _ if column.form == "json":
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
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
    elif form == "path":
        text = ", ".join(map(_below_home, value if isinstance(value, list) else [text]))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = _number(value, form)
    elif form == "lines":
        text = _ID.sub(lambda found: short_id(found[0]), text)
    else:
        text = _joined(value) or text
    return Span((clean if form == "prose" else clean_line)(text), style)


def _below_home(path: str) -> str:
    """Return a path with ~ in place of the home directory."""
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if home != os.sep and path.startswith(os.path.join(home, "")) else path


def _joined(value: Any) -> str:
    """Return texts and numbers with commas between them, those by name with the name; nothing for other values."""
    items = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(type(item) in {str, int} for item in items):
        return ""
    words = [item if isinstance(item, str) else f"{item:,}" for item in items]
    return ", ".join(map("{}: {}".format, value, words) if isinstance(value, dict) else words)


def _number(value: Any, form: str) -> str:
    if form == "size":
        return format_size(value)
    if form == "money":
        return f"${value:,.2f}"
    if form == "share":
        return f"{value:.0%}"
    return f"{value:,}" if form == "count" else f"{value:g}" if isinstance(value, float) else str(value)


def _view_column(column: Column) -> ViewColumn:
    wrapped = column.form in _WRAPPED
    return ViewColumn(
        column.heading, align="right" if column.form in _RIGHT else "left", paths=wrapped,
        flexible=not wrapped and column.form not in _WHOLE,
    )  # fmt: skip
