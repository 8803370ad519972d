"""Render the list of conversations (S4-53)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.render.dispatch import render_text
from scopes.render.relative_time import ago
from scopes.render.text.phrases import UNKNOWN_TIME, write_hint
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.list_cached import ConversationList
    from scopes.index.conversation_table import ConversationSummary

_TERMINAL_COLUMNS = (
    Column("ID", "id"),
    Column("Participants", "agent", flexible=True),
    Column("Branches"),
    Column("Activity", "time"),
    Column("Title", flexible=True),
)
_PIPED_COLUMNS = (
    Column("ID"),
    Column("Participants"),
    Column("Branches"),
    Column("Last activity"),
    Column("Title"),
    Column("UUID", hidden=True),
    Column("Messages", hidden=True),
    Column("Active branch", hidden=True),
    Column("Created at", hidden=True),
    Column("Source", hidden=True),
)
_BORDERS = 12  # the border of a box of five columns and the gaps between them
_MIN_TITLE_WIDTH = 12


@render_text.register
def render_conversation_list(result: ConversationList, view: View) -> None:
    """Write a table of conversations, newest first."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, map(_piped_row, result.conversations))
    elif result.conversations:
        _write_table([_terminal_row(row) for row in result.conversations], view)
    else:
        view.line("There are no conversations yet.")
        write_hint(view, "create one: scopes conv new")


def _write_table(rows: list[tuple[str | Span, ...]], view: View) -> None:
    """Write the rows in a box. Titles are shown only if the other columns leave enough room for them."""
    people = sorted(len(str(row[1])) for row in rows)
    others = sum(max(len(_TERMINAL_COLUMNS[i].name), *(len(str(row[i])) for row in rows)) for i in (0, 2, 3))
    room = view.width - others - _BORDERS
    whole = room - max(people[-1], len(_TERMINAL_COLUMNS[1].name)) >= _MIN_TITLE_WIDTH
    titled = any(_text(row[-1]) for row in rows) and (whole or 2 * people[len(people) // 2] <= room)
    columns = (
        *_TERMINAL_COLUMNS[:1],
        replace(_TERMINAL_COLUMNS[1], flexible=not (titled and whole)),
        *_TERMINAL_COLUMNS[2:4],
        replace(_TERMINAL_COLUMNS[4], hidden=not titled),
    )
    view.rows(columns, rows, title="Active Conversations")


def _text(cell: str | Span) -> str:
    return cell if isinstance(cell, str) else cell.text


def _terminal_row(row: ConversationSummary) -> tuple[str | Span, ...]:
    title = row.title if row.title is not None else Span(row.opening or "", "dim")
    when = UNKNOWN_TIME if row.last_activity is None else ago(row.last_activity, now_nanoseconds())
    return row.id, ",".join(row.participants), str(row.branches), when, title


def _piped_row(row: ConversationSummary) -> tuple[str, ...]:
    return (
        row.id,
        ",".join(row.participants),
        str(row.branches),
        row.last_activity or UNKNOWN_TIME,
        row.title or "",
        row.uuid or "",
        "" if row.messages is None else str(row.messages),
        row.active_branch or "",
        row.created_at or "",
        row.source or "",
    )
