"""Render the list of conversations (S4-53)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from scopes.clock import now_nanoseconds
from scopes.render.dispatch import render_text
from scopes.render.relative_time import ago
from scopes.render.text.phrases import UNKNOWN_TIME, write_hint
from scopes.render.view import Cell, Column, Span, View, plain_text
from scopes.render.wrap import count_cells, truncate_line

if TYPE_CHECKING:
    from scopes.conversation.list import ConversationList
    from scopes.index.caches import ConversationRow

_PIPED_COLUMNS = (
    Column("ID"),
    Column("Participants"),
    Column("Branches"),
    Column("Last activity"),
    Column("Title"),
    Column("Title source", hidden=True),
    Column("UUID", hidden=True),
    Column("Messages", hidden=True),
    Column("Active branch", hidden=True),
    Column("Created at", hidden=True),
    Column("Source", hidden=True),
    Column("Project", hidden=True),
    Column("Directory", hidden=True),
    Column("Agent", hidden=True),
    Column("Model", hidden=True),
    Column("Tags", hidden=True),
    Column("Ahead", hidden=True),
    Column("Behind", hidden=True),
    Column("Copy of", hidden=True),
)
_TERMINAL_COLUMNS: Final = {
    "ID": Column("ID", "id"),
    "Title": Column("Title", flexible=True),
    "Participants": Column("Participants", "agent", flexible=True),
    "Project": Column("Project", flexible=True),
    "Messages": Column("Msgs", align="right"),
    "Branches": Column("Branches", align="right"),
    "Remote": Column("Remote"),
    "Activity": Column("Activity", "time"),
}
_BORDER: Final = 4
_GAP: Final = 2
_MAX_NAME: Final = 20  # cells of a participant or a project, where titles need the room
_SHORT_HEADING: Final = "Br"


class _Layout(NamedTuple):
    """A way to draw the table, which is used if it leaves enough room for the titles.

    title_cells: what titles must get, unless all of them are shorter
    all_participants: every participant is named, not only the first
    dropped: columns that are left out
    """

    title_cells: int
    all_participants: bool = False
    short: bool = False
    dropped: tuple[str, ...] = ()


_LAYOUTS: Final = (  # the richest first
    _Layout(60, all_participants=True),
    _Layout(48),
    _Layout(30, short=True),
    _Layout(30, short=True, dropped=("Project",)),
    _Layout(30, short=True, dropped=("Project", "Messages")),
    _Layout(0, short=True, dropped=("Project", "Messages", "Branches", "Remote")),
)


@render_text.register
def render_conversation_list(result: ConversationList, view: View) -> None:
    """Write a table of conversations, newest first."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, (_piped_row(row, result) for row in result.conversations))
    elif result.conversations:
        _write_table(result, view)
    elif result.more:
        _write_more(result, view)
    elif result.filtered:
        if not result.notes:
            view.line("No conversation matches.")
    elif view.options.past:
        view.line("There were no conversations then.")
    else:
        view.line("There are no conversations yet.")
        write_hint(view, "import the sessions of your agents: scopes import, or start one: scopes new")


def _write_table(result: ConversationList, view: View) -> None:
    """Write the rows in a box, with as many columns as leave room for the titles."""
    tables = (_table(result, layout, everybody=view.options.participants) for layout in _LAYOUTS)
    columns, rows = next(((c, r) for c, r, needed in tables if needed <= view.width), (None, None))
    if columns is None or rows is None:
        columns, rows, _ = _table(result, _LAYOUTS[-1], everybody=view.options.participants)
    view.rows(columns, rows, title="Active Conversations")
    if result.more:
        _write_more(result, view)


def _write_more(result: ConversationList, view: View) -> None:
    total = len(result.conversations) + result.more
    view.line(Span(f"{len(result.conversations)} of {total:,} conversations; all: scopes list --all", "dim"))


def _table(result: ConversationList, layout: _Layout, *, everybody: bool) -> tuple[list[Column], list[list[Cell]], int]:
    """Return the columns that have any text, the rows, and the number of cells that the layout needs."""
    all_participants = layout.all_participants or everybody
    cells = [_terminal_row(row, result, all_participants=all_participants) for row in result.conversations]
    shown = [name for name in _TERMINAL_COLUMNS if name not in layout.dropped]
    names = [name for name in shown if any(plain_text(row[name]) for row in cells)]
    columns = [_column(name, short=layout.short, everybody=everybody) for name in names]
    texts = {name: [plain_text(row[name]) for row in cells] for name in names}
    widths = {
        name: max(map(count_cells, (column.name, *texts[name]))) for name, column in zip(names, columns, strict=True)
    }
    if "Title" in widths:
        widths["Title"] = min(widths["Title"], layout.title_cells)
    needed = sum(widths.values()) + _GAP * (len(names) - 1) + _BORDER
    return columns, [[row[name] for name in names] for row in cells], needed


def _column(name: str, *, short: bool, everybody: bool) -> Column:
    column = _TERMINAL_COLUMNS[name]
    if name == "Branches" and short:
        return replace(column, name=_SHORT_HEADING)
    return replace(column, flexible=False) if name == "Participants" and everybody else column


def _terminal_row(row: ConversationRow, result: ConversationList, *, all_participants: bool) -> dict[str, Cell]:
    heading = row.heading or ""
    if row.id in result.copies:
        heading = f"[{' of '.join(filter(None, ('copy', result.copies[row.id])))}] {heading}"
    project = "" if row.directory is None else result.projects.get(row.directory, "")
    return {
        "ID": row.id,
        "Title": heading if row.title is not None else Span(heading, "dim"),
        "Participants": ",".join(row.participants) if all_participants else _main_participant(row),
        "Project": project if all_participants else _cut(project),
        "Messages": "" if row.messages is None else f"{row.messages:,}",
        "Branches": str(row.branches),
        "Remote": _compared(row),
        "Activity": UNKNOWN_TIME if row.activity is None else ago(row.activity, now_nanoseconds()),
    }


def _compared(row: ConversationRow) -> str:
    """Return how many messages the remote lacks (+), and how many only it has (-); nothing if it lacks all of them."""
    if row.ahead is None or row.behind is None:
        return ""
    counts = [f"{sign}{count}" for sign, count in (("+", row.ahead), ("-", row.behind)) if count]
    return " ".join(counts) or "="


def _main_participant(row: ConversationRow) -> str:
    """Return the agent that wrote most, or else the first participant, and how many others there are."""
    if not row.participants:
        return ""
    others = len(row.participants) - 1
    return _cut(row.agent or row.participants[0]) + (f" +{others}" if others else "")


def _cut(name: str) -> str:
    return "".join(part.text for part in truncate_line((name,), _MAX_NAME))


def _piped_row(row: ConversationRow, result: ConversationList) -> tuple[str, ...]:
    return (
        row.id,
        ",".join(row.participants),
        str(row.branches),
        row.last_activity or UNKNOWN_TIME,
        row.heading or "",
        row.heading_source or "",
        row.uuid or "",
        "" if row.messages is None else str(row.messages),
        row.active_branch or "",
        row.created_at or "",
        row.source or "",
        "" if row.directory is None else result.projects.get(row.directory, ""),
        row.directory or "",
        row.agent or "",
        row.model or "",
        ",".join(row.tags or ()),
        "" if row.ahead is None else str(row.ahead),
        "" if row.behind is None else str(row.behind),
        result.copies.get(row.id, ""),
    )
