"""Render the difference of two contexts like a unified diff, with a heading line for each message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.text.tokens import format_tokens
from scopes.render.view import Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from scopes.context.context_diff import ContextChange, ContextDifference, ContextSide
    from scopes.render.color import Style

_STYLES: dict[str, Style] = {"-": "bad", "+": "good", "@": "dim"}


def render_context_difference(result: ContextDifference, view: View) -> None:
    """Write the changed parts with `-` and `+` before their lines; in a pipe nothing if there are none."""
    if not result.changes:
        if view.terminal:
            left, right = (Span(side.side.name, "branch") for side in (result.left, result.right))
            view.line("A model reads the same at ", left, " and ", right, ".")
        return
    for mark, style, side in (("---", "bad", result.left), ("+++", "good", result.right)):
        view.line(Span(f"{mark} {_describe(side, result.method)}", "bad" if style == "bad" else "good"))
    for change in result.changes:
        view.line(Span(_heading(change), "key"))
        for line in change.lines:
            view.body(line, style=_STYLES.get(line[:1], ""))


def _describe(side: ContextSide, method: str) -> str:
    tokens = format_tokens(side.tokens_used, method)
    return f"{side.side.name} ({counted(side.turns, 'message')}, {tokens} tokens)"


def _heading(change: ContextChange) -> str:
    turn = change.right or change.left
    if turn is None:
        return f"@@ {change.part} @@"
    numbers = [f"{mark}{t.number}" for mark, t in (("-", change.left), ("+", change.right)) if t is not None]
    return f"@@ message {' '.join(numbers)} {turn.author} @@"
