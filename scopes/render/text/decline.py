"""Render what is kept although others have purged it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted
from scopes.render.view import Column, View

if TYPE_CHECKING:
    from scopes.purge.decline import PurgeDeclined

_COUNTS = Column("Messages"), Column("Conversations")


@render_text.register
def render_purge_declined(result: PurgeDeclined, view: View) -> None:
    """Write what is kept; in a pipe the number of messages and of conversations."""
    if not view.terminal:
        view.rows(_COUNTS, [(str(result.messages), str(result.conversations))])
        return
    whole = ((result.messages, "message"), (result.conversations, "conversation"))
    named = " and ".join(counted(count, noun) for count, noun in whole if count)
    view.line(f"Kept {named} that others have purged." if named else "Declined; nothing of it is here.")
