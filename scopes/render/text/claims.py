"""Render claims (key and value), and the list of them: blame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scopes.history.messages import display_time, shown_author
from scopes.merge.keys import decoded_key, display_key, group_of
from scopes.render.text.phrases import (
    SHORT_ID_LENGTH,
    author,
    identifier,
    short_time,
    subject,
)
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.changes import BlameList, BlameRow

_HASH_LENGTH = len("sha256:") + 8
_BLAME_COLUMNS = (
    Column("ID"),
    Column("Author"),
    Column("Time"),
    Column("Key"),
    Column("Agent"),
    Column("Value"),
    Column("Subject"),
)


def claim_name(key: str, agent: str | None) -> str:
    """Return the key of a claim as `decisions/auth`, with the agent if claims of its group are kept per agent."""
    return display_key(key) + (f" ({agent})" if agent is not None else "")


def claim_text(key: str, value: Any) -> str:
    """Return the value of a claim as one line: messages and files as a phrase, other documents as JSON."""
    match group_of(key), value:
        case _, str(text):
            line = text
        case "messages", {"retracted": True}:
            line = "retracted"
        case "messages", {"amended": str(digest)}:
            line = f"amended, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "content": str(digest)}:
            line = f"{operation}, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "derived": str(digest)}:
            line = f"{operation}; only the patch is recorded, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation)}:
            line = operation if operation == "delete" else f"{operation}; the resulting content is not recorded"
        case _, {"both": list(several)}:
            line = " | ".join(dict.fromkeys(claim_text(key, each) for each in several))
        case _:
            line = json.dumps(value, ensure_ascii=False)
    return line


def render_blame_list(result: BlameList, view: View) -> None:
    """Write each claim and the message that set it; for a tool's result, the call and the agent that made it."""
    if not view.terminal:
        view.rows(_BLAME_COLUMNS, (_blame_row(row, view) for row in result.rows))
        return
    revision = result.revision
    place = revision.branch or revision.oid[:SHORT_ID_LENGTH]
    view.line("On ", Span(f"{revision.conversation}/{place}", "branch"), ":")
    for row in result.rows:
        view.sentence(Span(claim_name(row.key, row.agent), "heading"), ": ", _value_text(row))
        head = row.call_message or row.head
        who, when = author(head.author, head.author_kind), short_time(view, display_time(head))
        start = (identifier(view, head.id), " ", who, " ", when, ": ")
        view.cut(*start, *_what_was_done(row), indent=4)


def _value_text(row: BlameRow) -> str:
    """Return the value of a claim; of a file without recorded content only the operation."""
    match group_of(row.key), row.value:
        case "files", {"operation": str(operation), **rest} if "content" not in rest:
            return operation
    return claim_text(row.key, row.value)


def _what_was_done(row: BlameRow) -> tuple[str | Span, ...]:
    """Return the call that set a claim, else the subject of the message."""
    if row.call is None:
        return (subject(row.head),)
    from scopes.render.text.calls import call_line

    line: tuple[Span, ...] = call_line(row.call)
    return line


def _blame_row(row: BlameRow, view: View) -> tuple[Cell, ...]:
    head = row.call_message or row.head
    when = short_time(view, display_time(head))
    value, done = _value_text(row), _what_was_done(row)
    return head.id, shown_author(head), when, decoded_key(row.key), row.agent or "", value, done
