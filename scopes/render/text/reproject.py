"""Render what a new reading of stored transcripts changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_hint
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.importers.reproject import Reprojected

_COLUMNS = (
    Column("ID", "id"),
    *(Column(name, align="right") for name in ("Messages", "Changed", "New ids", "Added", "Removed", "Rewritten")),
)


@render_text.register
def render_reprojected(result: Reprojected, view: View) -> None:
    """Write one row for each conversation that is read in another way."""
    if result.conversations:
        rows = ((row.id, *map(str, row[1:7])) for row in result.conversations)
        view.rows(_COLUMNS, rows, title="Would change" if result.dry_run else "Changed")
    elif view.terminal:
        view.line("nothing changes: everything is read as it was")
    if view.terminal and result.unchanged and result.conversations:
        view.line(Span(f"{counted(result.unchanged, 'conversation')} stay as they are", "dim"))
    if view.terminal and result.operation is not None:
        write_hint(view, "to bring the old history back: scopes undo")
