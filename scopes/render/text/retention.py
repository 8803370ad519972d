"""Render the rules of retention and what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.view import Column, View

if TYPE_CHECKING:
    from scopes.purge.retention import RetentionStatus

_RULES = (Column("Project"), Column("Age"), Column("Conversations", align="right"), Column("Due", align="right"))
_DUE = (
    Column("Conversation", "branch"), Column("Project"), Column("Last message", "time"), Column("Kept for"),
    Column("Title", flexible=True),
)  # fmt: skip


@render_text.register
def render_retention_status(result: RetentionStatus, view: View) -> None:
    """Write the conversations that are due; on a terminal the rules first."""
    if view.terminal and result.rules:
        rules = [(rule.project, rule.age, str(rule.conversations), str(rule.due)) for rule in result.rules]
        view.rows(_RULES, rules, title="Rules")
    rows = [(row.conversation, row.project or "", row.newest, row.age, row.title or "") for row in result.due]
    if rows or not view.terminal:
        view.rows(_DUE, rows, title="Older than that")
    if view.terminal and not rows and result.rules:
        view.line("No conversation is older than that.")
