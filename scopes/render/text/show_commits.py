"""Render the commits of a conversation: a table, or on a terminal a line for each with its evidence below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, counted, short_time
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.code_links.link import CodeLink
    from scopes.conversation.show_commits import CommitRow, ConversationCommits
    from scopes.render.color import Style

_COLUMNS = (
    Column("Commit"), Column("Authored"), Column("Role"), Column("Level"), Column("Turn"), Column("Message"),
    Column("Evidence"), Column("Subject"),
)  # fmt: skip
_LEVELS: dict[str, Style] = {"certain": "good", "likely": "warn", "candidate": "dim"}
_INDENT = 9


@render_text.register
def render_conversation_commits(result: ConversationCommits, view: View) -> None:
    """Write a row for each link; on a terminal a line for each commit, with a line for each link below."""
    if not view.terminal:
        view.rows(_COLUMNS, [_cells(row, link) for row in result.commits for link in row.links])
        return
    if not result.commits:
        view.line(f"No commit of this project is linked to {result.conversation}.")
        return
    view.line(f"{counted(len(result.commits), 'commit')} of ", Span(result.conversation, "branch"))
    for row in result.commits:
        gone = (Span(" (not in this project)", "dim"),) if row.is_gone else ()
        name = Span(row.commit[:SHORT_ID_LENGTH], "id")
        view.line(name, " ", row.subject, "  ", short_time(view, row.authored), *gone)
        for link in row.links:
            turn = "" if link.turn is None else f" in turn {link.turn}"
            level = Span(link.level, _LEVELS.get(link.level, ""))
            view.hanging(level, f" {link.role}{turn}: {_evidence(link)}", indent=_INDENT)


def _cells(row: CommitRow, link: CodeLink) -> tuple[str, ...]:
    turn = "" if link.turn is None else str(link.turn)
    return (
        row.commit, row.authored or "", link.role, link.level, turn, link.message or "", _evidence(link), row.subject,
    )  # fmt: skip


def _evidence(link: CodeLink) -> str:
    return "; ".join(f"{each.kind}: {each.text}" for each in link.evidence)
