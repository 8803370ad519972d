"""Render the result of a bisect: the first bad message, or the messages that it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.history.messages import MessageHeader, display_time, shown_author
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import author, identifier, short_time, subject
from scopes.render.view import Cell, Column, Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from scopes.conversation.log import Bisection
    from scopes.ids import Oid

_COLUMNS = (Column("State"), Column("ID"), Column("Author"), Column("Time"), Column("Text"), Column("OID", hidden=True))


@render_text.register
def render_bisection(result: Bisection, view: View) -> None:
    """Write the first bad message; if skipped messages hide it, all messages that it may be."""
    skipped = {head.oid for head in result.skipped}
    if not view.terminal:
        heads = result.candidates if result.first_bad is None else (result.first_bad,)
        view.rows(_COLUMNS, (_row(view, head, _state(result, head, skipped)) for head in heads))
        return
    steps = counted(len(result.steps), "step")
    if result.first_bad is not None:
        view.line(Span("first bad message", "bad"), f" of {result.conversation}, found in {steps}:")
        _write(view, result.first_bad)
        return
    view.line(
        Span("not decided", "warn"),
        f" after {steps}: {counted(len(result.skipped), 'message')} skipped; the first bad message is one of",
    )
    for head in result.candidates:
        _write(view, head, " (skipped)" if head.oid in skipped else "")


def _state(result: Bisection, head: MessageHeader, skipped: set[Oid]) -> str:
    if result.first_bad is not None:
        return "first-bad"
    return "skipped" if head.oid in skipped else "bad"


def _write(view: View, head: MessageHeader, note: str = "") -> None:
    who, time = author(head.author, head.author_kind), short_time(view, display_time(head))
    view.sentence(identifier(view, head.id), " ", who, " ", time, ": ", subject(head), Span(note, "dim"), indent=2)


def _row(view: View, head: MessageHeader, state: str) -> tuple[Cell, ...]:
    return state, head.id, shown_author(head), short_time(view, display_time(head)), head.subject, head.oid
