"""Render what `scopes import --watch` has recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, short_time
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.live.watch import SourceRecorded

_COLUMNS = (Column("Time"), Column("Conversation", "id"), Column("Messages"), Column("Source", paths=True))


@render_text.register
def render_source_recorded(result: SourceRecorded, view: View) -> None:
    """Write one line; for scripts time, conversation, messages and file."""
    if view.terminal:
        place = "" if result.source is None else f"  {result.source}"
        added = f"  {counted(result.messages, 'message')}"
        view.line(Span(result.time[11:19], "time"), "  ", Span(result.conversation, "id"), added, Span(place, "dim"))
    else:
        view.rows(
            _COLUMNS, [(short_time(view, result.time), result.conversation, str(result.messages), result.source or "")]
        )
