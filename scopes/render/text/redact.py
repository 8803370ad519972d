"""Render what a redaction has made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_field, write_outcome
from scopes.render.view import View

if TYPE_CHECKING:
    from scopes.purge.redact import ConversationRedacted


@render_text.register
def render_conversation_redacted(result: ConversationRedacted, view: View) -> None:
    """Write what was made; in a pipe the id of the copy."""
    what = f"{counted(result.secrets, 'secret')} masked in {counted(result.messages, 'message')}"
    write_outcome(view, result.conversation, f"{result.source} copied as {result.conversation}: {what}")
    if view.terminal:
        write_field(view, "Map", result.map_ref)
