"""Decisions for people, to be quoted: what, by whom, when, in which message (S1-29)."""

from __future__ import annotations

from scopes.conversation.decisions import DecisionList, DecisionRow
from scopes.history.messages import display_time
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import author, identifier, moment
from scopes.render.view import Cell, Column, Span, View

_PIPED = (
    Column("Topic"),
    Column("Decision"),
    Column("Author"),
    Column("Time"),
    Column("ID"),
    Column("OID"),
    Column("State"),
)


@render_text.register(DecisionList)
def decision_list(result: DecisionList, view: View) -> None:
    """Say the decisions, oldest first; those that the active branch holds no more are marked."""
    if not view.terminal:
        view.rows(_PIPED, (_row(row, view) for row in result.decisions))
        return
    if not result.decisions:
        view.line(Span(result.conversation, "id"), " holds no decisions.")
    for row in result.decisions:
        marked = "" if row.current else " (not held by the active branch)"
        view.line(Span(row.topic, "heading"), Span(marked, "warn"))
        view.body(row.decision, indent=4)
        who, when = author(row.head.author, row.head.author_kind), moment(view, display_time(row.head))
        commit = Span(f" commit {row.head.oid[:12]}", "dim")
        view.line("— ", who, ", ", when, ", message ", identifier(view, row.head.id), commit, indent=4)


def _row(row: DecisionRow, view: View) -> tuple[Cell, ...]:
    time = moment(view, display_time(row.head))
    state = "stands" if row.current else "not held"
    return row.topic, row.decision, row.head.author, time, row.head.id, row.head.oid, state
