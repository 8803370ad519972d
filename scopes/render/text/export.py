"""Where an export is, for people."""

from __future__ import annotations

from scopes.exporters.atomic_save import ExportSaved
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import counted, say_outcome, size
from scopes.render.view import Span, View


@render_text.register(ExportSaved)
def saved(result: ExportSaved, view: View) -> None:
    """Say what was written where; in a pipe only the path."""
    path = Span(result.path, "id")
    many = f"{counted(len(result.files), 'file')} in " if result.files else ""
    content = (
        "its original bytes" if result.messages is None else f"{counted(result.messages, 'message')} as {result.format}"
    )
    name = Span(result.conversation, "id")
    say_outcome(view, path, "wrote ", name, " to ", many, path, f": {content}, {size(result.size_bytes)}")
