"""Render a conversation that was written as a session of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_hint
from scopes.render.view import View

if TYPE_CHECKING:
    from scopes.handover.checkout import CheckedOut

_STATES: Mapping[str, str] = {
    "written": "written",
    "unchanged": "there already",
    "continued": "there already, and the agent has gone on with it",
}


@render_text.register
def render_checked_out(result: CheckedOut, view: View) -> None:
    """Write the line for a shell; on a terminal also where the session is, and what it has."""
    view.line(result.shell)
    if view.terminal or result.dry_run:
        size = f"{counted(result.messages, 'message')}, {result.tokens} tokens"
        state = (
            "would be written"
            if result.dry_run and result.state == "written"
            else _STATES.get(result.state, result.state)
        )
        view.sentence(f"{result.file or result.session_id}: {state} ({size})")
    if view.terminal:
        write_hint(view, f"what {result.agent} adds is imported as {result.conversation}/{result.new_branch}")
