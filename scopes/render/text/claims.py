"""Render claims (key and value), and the lists made of them: blame, decisions (S1-29) and files (S1-20)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scopes.history.messages import display_time
from scopes.merge.conflict_keys import group_of, shown_key
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import author, identifier, short_time, subject
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.blame import BlameList, BlameRow
    from scopes.conversation.decisions import DecisionList, DecisionRow
    from scopes.conversation.files import FileList, FileRow

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
_DECISION_COLUMNS = (
    Column("Topic"),
    Column("Decision"),
    Column("Author"),
    Column("Time"),
    Column("ID"),
    Column("OID"),
    Column("State"),
)
_FILE_COLUMNS = (
    Column("Path", "branch", flexible=True),
    Column("Operations", flexible=True),
    Column("Messages", align="right"),
    Column("Last touch"),
    Column("Author", "agent", flexible=True),
    Column("Message IDs", hidden=True),
)


def claim_name(key: str, agent: str | None) -> str:
    """Return the key of a claim as `decisions/auth`, with the agent if claims of its group are kept per agent."""
    return shown_key(key) + (f" ({agent})" if agent is not None else "")


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
        case "files", {"operation": str(operation)}:
            line = operation if operation == "delete" else f"{operation}, outcome unknown"
        case _, {"both": list(several)}:
            line = " | ".join(claim_text(key, each) for each in several)
        case _:
            line = json.dumps(value, ensure_ascii=False)
    return line


@render_text.register
def render_blame_list(result: BlameList, view: View) -> None:
    """Write each claim and the message that set it."""
    if not view.terminal:
        view.rows(_BLAME_COLUMNS, (_blame_row(row, view) for row in result.rows))
        return
    for row in result.rows:
        view.line(Span(claim_name(row.key, row.agent), "heading"), ": ", claim_text(row.key, row.value))
        who, when = author(row.head.author, row.head.author_kind), short_time(view, display_time(row.head))
        view.line(identifier(view, row.head.id), " ", who, " ", when, ": ", subject(row.head), indent=4)


@render_text.register
def render_decision_list(result: DecisionList, view: View) -> None:
    """Write the decisions, oldest first; those that the active branch no longer holds are marked."""
    if not view.terminal:
        view.rows(_DECISION_COLUMNS, (_decision_row(row, view) for row in result.decisions))
        return
    if not result.decisions:
        view.line(Span(result.conversation, "id"), " holds no decisions.")
    for row in result.decisions:
        marked = "" if row.current else " (superseded on the active branch)"
        view.line(Span(row.topic, "heading"), Span(marked, "warn"))
        view.body(row.decision, indent=4)
        who, when = author(row.head.author, row.head.author_kind), short_time(view, display_time(row.head))
        commit = Span(f" commit {row.head.oid[:12]}", "dim")
        view.line("— ", who, ", ", when, ", message ", identifier(view, row.head.id), commit, indent=4)


@render_text.register
def render_file_list(result: FileList, view: View) -> None:
    """Write the files, the last touched first."""
    if result.files or not view.terminal:
        heading = "" if result.heading is None else f": {result.heading.text}"
        title = f"Files of {result.conversation}{heading}"
        view.rows(_FILE_COLUMNS, (_file_row(row, view) for row in result.files), title=title)
    else:
        view.line(Span(result.conversation, "id"), " touched no files.")


def _blame_row(row: BlameRow, view: View) -> tuple[Cell, ...]:
    head = row.head
    when = short_time(view, display_time(head))
    return head.id, head.author, when, row.key, row.agent or "", claim_text(row.key, row.value), head.subject


def _decision_row(row: DecisionRow, view: View) -> tuple[Cell, ...]:
    time = short_time(view, display_time(row.head))
    state = "in effect" if row.current else "superseded"
    return row.topic, row.decision, row.head.author, time, row.head.id, row.head.oid, state


def _file_row(row: FileRow, view: View) -> tuple[Cell, ...]:
    separator = ", " if view.terminal else ","
    operations = separator.join(f"{name}:{count}" for name, count in row.operations.items())
    touched = short_time(view, row.last_touch)
    return row.path, operations, str(len(row.messages)), touched, row.last_author, ",".join(row.messages)
