"""Blame for people: what stands, and the message that it comes from."""

from __future__ import annotations

from scopes.conversation.blame import BlameList, BlameRow
from scopes.history.messages import display_time
from scopes.render.text.claim import about, said
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import author, identifier, moment, subject
from scopes.render.view import Cell, Column, Span, View

_PIPED = (
    Column("ID"),
    Column("Author"),
    Column("Time"),
    Column("Key"),
    Column("Agent"),
    Column("Value"),
    Column("Subject"),
)


@render_text.register(BlameList)
def blame_list(result: BlameList, view: View) -> None:
    """Say each claim with its message."""
    if not view.terminal:
        view.rows(_PIPED, (_row(row, view) for row in result.rows))
        return
    for row in result.rows:
        view.line(Span(about(row.key, row.agent), "heading"), ": ", said(row.key, row.value))
        who, when = author(row.head.author, row.head.author_kind), moment(view, display_time(row.head))
        view.line(identifier(view, row.head.id), " ", who, " ", when, ": ", subject(row.head), indent=4)


def _row(row: BlameRow, view: View) -> tuple[Cell, ...]:
    head = row.head
    when = moment(view, display_time(head))
    return head.id, head.author, when, row.key, row.agent or "", said(row.key, row.value), head.subject
