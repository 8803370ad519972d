"""Render the change log of a conversation (S4-51)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scopes.conversation.changes import Change, ChangeLog
from scopes.ids import is_oid
from scopes.merge.conflict_keys import shown_key
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, short_time
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scopes.result import Result

_TERMINAL_COLUMNS = (
    Column("Time"),
    Column("Operation"),
    Column("Field", "branch", flexible=True),
    Column("Cause", "agent", flexible=True),
    Column("Value", flexible=True),
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
        view.rows(_TERMINAL_COLUMNS, (_terminal_row(row, view) for row in changes), title=title)
    else:
        view.rows(_PIPED_COLUMNS, map(_piped_row, changes))


def _terminal_row(row: Change, view: View) -> tuple[Cell, ...]:
    field = row.field_path
    if field.startswith(_MESSAGE):
        field = f"{field[: len(_MESSAGE) + SHORT_ID_LENGTH]}…]"
    value = row.before if row.after is None else row.after
    return short_time(view, row.time), row.operation, field, row.cause, Span(_short_value(value))


def _piped_row(row: Change) -> tuple[str, ...]:
    return row.time, row.field_path, row.operation, row.cause, _json(row.before), _json(row.after), row.source


def _short_value(value: Any) -> str:
    """Return the part of a value to show: the subject of a message, the key of a conflict, the start of an id."""
    match value:
        case {"subject": str(text)}:
            return text
        case {"key": str(key), "choice": str(choice)}:
            return f"{choice} for {shown_key(key)}"
        case {"key": str(key), "type": str(kind)}:
            return f"{kind} on {shown_key(key)}"
        case {"tip": str(name)} | {"id": str(name)} | {"amended_by": str(name)}:
            return name[:SHORT_ID_LENGTH]
        case str(text):
            return text[:SHORT_ID_LENGTH] if is_oid(text) else text
    return _json(value)


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
