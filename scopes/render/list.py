"""Show the list of conversations (S4-53): a box on a terminal, as the specification draws it, and rows in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.render.phrases import UNKNOWN_TIME, WIDE, ago, write_hint
from scopes.render.view import Cell, Column, Span, View
from scopes.sanitize import clean_line

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
_PARTICIPANTS = 21  # cells, where titles need the room
_TITLE = 200  # characters of a title in a pipe


def render_conversation_list(result: ConversationList, view: View) -> None:
    """Write a table of conversations, newest first."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, (_piped_row(row, result) for row in result.conversations))
    elif result.conversations:
        columns = _columns(view)
        rows = [_terminal_row(row, result) for row in result.conversations]
        names = [name for name in columns if any(row[name] for row in rows)]
        view.rows(
            [columns[name] for name in names], [[row[name] for name in names] for row in rows],
            title="Active Conversations", boxed=True,
        )  # fmt: skip
        _write_more(result, view)
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


def _write_more(result: ConversationList, view: View) -> None:
    if result.more:
        shown, total = len(result.conversations), len(result.conversations) + result.more
        view.line(Span(f"{shown:,} of {total:,}" + (" · all: scopes list --all" if view.hints else ""), "dim"))


def _columns(view: View) -> dict[str, Column]:
    """Return the columns by name: those of the specification, and then a title, which takes the room that is left."""
    columns = {
        "ID": Column("ID", "id"),
        "Participants": Column("Participants", flexible=True, most=_PARTICIPANTS),
        "Branches": Column("Branches"),
        "Remote": Column("Remote"),
        "Activity": Column("Activity", "time"),
        "Project": Column("Project", flexible=True, most=_PARTICIPANTS),
        "Title": Column("Title", flexible=True, fills=True),
    }
    if view.width < WIDE:
        del columns["Project"]
    return columns


def _terminal_row(row: ConversationRow, result: ConversationList) -> dict[str, Cell]:
    copied = f"[copy of {result.copies[row.id] or 'another'}] " if row.id in result.copies else ""
    title = clean_line(row.heading or "")
    return {
        "ID": row.id,
        "Participants": ",".join(sorted(row.participants, key=lambda name: name != row.agent)),
        "Branches": str(row.branches),
        "Remote": _compared(row),
        "Activity": UNKNOWN_TIME if row.activity is None else ago(row.activity, now_nanoseconds()),
        "Project": "" if row.directory is None else result.projects.get(row.directory, ""),
        "Title": Span(f"{copied}{title}", "" if row.title is None else "human") if copied or title else "",
    }


def cut_title(title: str | None) -> str:
    """Return a title as one line of a pipe, of at most 200 characters."""
    line = clean_line(title or "")
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


def _compared(row: ConversationRow) -> str:
    """Return how many messages the remote lacks (+), and how many only it has (-); nothing if it lacks all of them."""
    if row.ahead is None or row.behind is None:
        return ""
    counts = [f"{sign}{count}" for sign, count in (("+", row.ahead), ("-", row.behind)) if count]
    return " ".join(counts) or "="


def _piped_row(row: ConversationRow, result: ConversationList) -> tuple[str, ...]:
    return (
        row.id,
        ",".join(row.participants),
        str(row.branches),
        row.last_activity or UNKNOWN_TIME,
        cut_title(row.heading),
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
