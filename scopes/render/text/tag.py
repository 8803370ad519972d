"""Tags for people."""

from __future__ import annotations

from scopes.conversation.tag import Tagged, TagList
from scopes.history.messages import MessageHead, display_time
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import author, identifier, moment, say_outcome, subject
from scopes.render.view import Cell, Column, Span, View

_COLUMNS = (
    Column("Tag", "branch", flexible=True),
    Column("ID"),
    Column("Author", flexible=True),
    Column("Time"),
    Column("Subject", flexible=True),
    Column("OID", hidden=True),
)


@render_text.register(Tagged)
def tagged(result: Tagged, view: View) -> None:
    """Say what was tagged, or which tag is gone."""
    name, where = Span(result.tag, "branch"), Span(result.conversation, "id")
    if result.oid is None:
        say_outcome(view, name, "removed the tag ", name, " from ", where, operation=result.operation)
    else:
        tip = identifier(view, result.oid)
        say_outcome(view, name, "tagged ", tip, " of ", where, " as ", name, operation=result.operation)


@render_text.register(TagList)
def tag_list(result: TagList, view: View) -> None:
    """Say the tags by name, each with its message."""
    if result.tags or not view.terminal:
        rows = (_row(name, head, view) for name, head in result.tags)
        view.rows(_COLUMNS, rows, title=f"Tags of {result.conversation}")
    else:
        view.line(Span(result.conversation, "id"), " has no tags.")


def _row(name: str, head: MessageHead, view: View) -> tuple[Cell, ...]:
    who = author(head.author, head.author_kind)
    time = moment(view, display_time(head))
    return name, identifier(view, head.id), who, time, subject(head) if view.terminal else head.subject, head.oid
