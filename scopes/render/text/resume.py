"""Render how to go on with a conversation in an agent."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_hint
from scopes.render.view import View

if TYPE_CHECKING:
    from scopes.handover.resume import Resumption


@render_text.register
def render_resumption(result: Resumption, view: View) -> None:
    """Write the line for a shell; on a terminal also why a new session is needed, and the size of its history."""
    view.line(result.shell)
    if view.terminal and result.session == "new":
        size = f"{counted(result.messages, 'message')}, {result.tokens} tokens"
        write_hint(view, f"a new session with {size} of history: {result.reason}")
        where = f"{result.conversation}/{result.branch}"
        write_hint(
            view,
            f"with all tool calls, as a session of its own: scopes resume {quote(where)} --in {quote(result.agent)}",
        )
