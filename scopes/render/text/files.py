"""The files of a conversation for people (S1-20)."""

from __future__ import annotations

from scopes.conversation.files import FileList, FileRow
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import moment
from scopes.render.view import Cell, Column, Span, View

_COLUMNS = (
    Column("Path", "branch", flexible=True),
    Column("Operations", flexible=True),
    Column("Messages", align="right"),
    Column("Last touch"),
    Column("Author", "agent", flexible=True),
    Column("Message IDs", hidden=True),
)


@render_text.register(FileList)
def file_list(result: FileList, view: View) -> None:
    """Say the files, the last touched first."""
    if result.files or not view.terminal:
        view.rows(_COLUMNS, (_row(row, view) for row in result.files), title=f"Files of {result.conversation}")
    else:
        view.line(Span(result.conversation, "id"), " touched no files.")


def _row(row: FileRow, view: View) -> tuple[Cell, ...]:
    separator = ", " if view.terminal else ","
    operations = separator.join(f"{name}:{count}" for name, count in row.operations.items())
    touched = moment(view, row.last_touch)
    return row.path, operations, str(len(row.messages)), touched, row.last_author, ",".join(row.messages)
