"""Render the change log of a conversation (S4-51)."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scopes.clock import in_seconds
from scopes.conversation.changes import Change, ChangeLog
from scopes.history.messages import NO_TEXT
from scopes.ids import is_oid
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, counted, short_time
from scopes.render.view import Cell, Column, View
from scopes.sanitize import mark_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scopes.result import Result

_TERMINAL_COLUMNS = (
    Column("Time", "time"),
    Column("Field", "branch", flexible=True),
    Column("Change", flexible=True),
    Column("By", "agent", flexible=True),
)
_PIPED_COLUMNS = (
    Column("Time"),
    Column("Field"),
    Column("Operation"),
    Column("Cause"),
    Column("Before"),
    Column("After"),
    Column("Source"),
)
_MESSAGE = "messages["


@render_text.register
def render_change_log(result: ChangeLog, view: View) -> None:
    """Write the changes, oldest first."""
    _write_changes(result.items, view, title=f"Changes of {result.conversation}")


@render_text.register
def render_change(result: Change, view: View) -> None:
    """Write one change."""
    _write_changes((result,), view, title=None)


def _write_changes(items: Iterable[Result], view: View, *, title: str | None) -> None:
    changes = (item for item in items if isinstance(item, Change))
    if view.terminal:
        groups = groupby(changes, _is_tool_use)
        rows = (row for is_tool_use, group in groups for row in _terminal_rows(list(group), view, fold=is_tool_use))
        view.rows(_TERMINAL_COLUMNS, rows, title=title)
    else:
        view.rows(_PIPED_COLUMNS, map(_piped_row, changes))


def _is_tool_use(row: Change) -> bool:
    """Return True if a change is a message that only calls tools or has their results."""
    match row.after:
        case {"kind": str(kind), "subject": str(subject)} if row.field_path.startswith("messages"):
            return kind == "tool-results" or (bool(row.tools) and subject == NO_TEXT)
    return False


def _terminal_rows(group: list[Change], view: View, *, fold: bool) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each change; one for several messages in a row that only use tools."""
    if not fold or len(group) == 1:
        yield from (_terminal_row(row, view) for row in group)
        return
    counts = Counter(tool for row in group for tool in row.tools)
    names = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts.items())
    words = f"{counted(len(group), 'message')} of tool calls and results" + (f": → {names}" if names else "")
    yield short_time(view, group[0].time), "messages", words, _author(group[0])


def _terminal_row(row: Change, view: View) -> tuple[Cell, ...]:
    field = row.field_path
    if field.startswith(_MESSAGE):
        field = f"{field[: len(_MESSAGE) + SHORT_ID_LENGTH]}…]"
    return short_time(view, row.time), field, _describe(row), _author(row)


def _author(row: Change) -> str:
    kind, _, name = row.cause.partition(":")
    return name if name and kind != "remote" else row.cause


def _piped_row(row: Change) -> tuple[str, ...]:
    return (
        in_seconds(row.time),
        row.field_path,
        row.operation,
        row.cause,
        _json(row.before),
        _json(row.after),
        row.source,
    )


def _describe(row: Change) -> str:
    """Return a change in words: what was said, created, moved or deleted."""
    match row.field_path.partition(".")[0].partition("[")[0], row.before, row.after:
        case "messages", _, {"kind": str(kind), "subject": str(subject)}:
            text = mark_cut(subject)
            called = f"{kind}: → {', '.join(row.tools)}" if row.tools else kind
            is_named = kind == "plain" or text.startswith(f"{kind}: ")
            words = called if text == NO_TEXT else text if is_named else f"{kind}: {text}"
        case "messages", _, {"amended_by": str(name)}:
            words = f"amended by {name[:SHORT_ID_LENGTH]}"
        case "messages", _, None:
            words = "retracted"
        case "participants", _, str(name):
            words = f"{name} joined"
        case _:
            words = _describe_values(row)
    return words


def _describe_values(row: Change) -> str:
    before, after = row.before, row.after
    if before is None:
        return f"{'started at' if isinstance(after, dict) else 'set to'} {_short_value(after)}"
    if after is None:
        return f"deleted, was {_short_value(before)}"
    verb = "merged: " if row.operation == "MERGE" else ""
    return f"{verb}{_short_value(before)} → {_short_value(after)}"


def _short_value(value: Any) -> str:
    """Return a value on one line: ids are shortened, documents are JSON."""
    match value:
        case {"tip": str(name)} | {"id": str(name)}:
            return name[:SHORT_ID_LENGTH]
        case str(text):
            return text[:SHORT_ID_LENGTH] if is_oid(text) else text
    return _json(value)


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
