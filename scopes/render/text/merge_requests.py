"""Render merge requests: the list, one request with what its merge would do, and what was opened or closed."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.model.conversation import CLOSED, OPEN
from scopes.model.conversation import MERGED_REQUEST as MERGED
from scopes.render.dispatch import render_text
from scopes.render.text.conflict_phrases import conflict_key
from scopes.render.text.file_comparison import write_files
from scopes.render.text.phrases import (
    UNDO_HINT,
    counted,
    identifier,
    short_time,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.merge import MergeRequestChanged, MergeRequestList, MergeRequestRow, MergeRequestView
    from scopes.render.color import Style

_STYLES: dict[str, Style] = {OPEN: "active", MERGED: "good", CLOSED: "dim"}
_COLUMNS = (
    Column("Conversation"),
    Column("Number"),
    Column("ID"),
    Column("State"),
    Column("Title"),
    Column("Source"),
    Column("Target"),
    Column("Requester"),
    Column("Opened"),
)
_TERMINAL_COLUMNS = (
    Column("Conversation", "id"),
    Column("No.", align="right"),
    Column("State"),
    Column("Title", flexible=True),
    Column("Branches", "branch", flexible=True),
    Column("By"),
    Column("Opened", "time"),
)
_OUTCOMES = {
    "up-to-date": "has nothing to do: the target has all messages",
    "fast-forward": "would be a fast-forward",
    "merged": "would merge without conflicts",
}


@render_text.register
def render_merge_request_list(result: MergeRequestList, view: View) -> None:
    """Write a row for each merge request."""
    if not view.terminal:
        view.rows(_COLUMNS, map(_row, result.rows))
    elif not result.rows:
        view.line("no merge requests")
    else:
        view.rows(_TERMINAL_COLUMNS, [_terminal_row(row, view) for row in result.rows], title="Merge requests")


@render_text.register
def render_merge_request_changed(result: MergeRequestChanged, view: View) -> None:
    """Write what was opened or closed; in a pipe its number."""
    request = result.row.request
    branches = f": {request.source} into {request.target}"
    write_outcome(view, str(request.number), f"merge request {request.number} {result.change}", branches)
    if view.terminal:
        if result.change == "opened":
            write_hint(view, f"merge it: scopes merge {quote(result.row.conversation)} mr/{request.number}")
        write_hint(view, UNDO_HINT)


@render_text.register
def render_merge_request_view(result: MergeRequestView, view: View) -> None:
    """Write a merge request and what its merge would do now."""
    row, request = result.row, result.row.request
    name = Span(f"merge request {request.number}", "id")
    view.line(name, " ", Span(row.state, _style(row)), " ", request.title)
    write_field(view, "Branches", Span(request.source, "branch"), " into ", Span(request.target, "branch"))
    write_field(view, "Conversation", row.conversation)
    write_field(view, "Requester", request.requester, f", {short_time(view, request.opened).text}")
    write_field(view, "ID", identifier(view, request.id))
    if request.ended is not None:
        by = f" by {request.ended_by}" if request.ended_by else ""
        write_field(view, row.state.capitalize(), f"{short_time(view, request.ended).text}{by}")
    if request.reason:
        write_field(view, "Reason", " ".join(request.reason.split()))
    if request.message:
        view.line()
        for line in request.message.splitlines():
            view.line("    ", line)
        view.line()
    for branch in result.gone:
        write_field(view, "Gone", Span(branch, "branch"))
    if result.moved is None and request.source not in result.gone:
        write_field(view, "Source", "was rewound or rewritten since the request was opened")
    elif result.moved:
        write_field(view, "Source", f"has {counted(result.moved, 'message')} since the request was opened")
    if result.in_progress is not None:
        write_field(view, "In progress", Span(result.in_progress, "branch"))
    if row.state == OPEN:
        _write_preview(result, view)


def _write_preview(result: MergeRequestView, view: View) -> None:
    if result.problem is not None:
        write_field(view, "Merge", Span(f"not possible: {result.problem}", "bad"))
        return
    if result.outcome != "conflict":
        count = f", {counted(result.messages, 'message')}" if result.messages else ""
        write_field(view, "Merge", f"{_OUTCOMES.get(result.outcome or '', '')}{count}")
    else:
        conflicts = [each for each in result.conflicts if each.resolution is None]
        write_field(view, "Merge", Span(f"would stop on {counted(len(conflicts), 'conflict')}", "warn"))
        for conflict in conflicts:
            view.line("    ", conflict.type, " ", conflict_key(view, conflict))
    request = result.row.request
    if result.outcome not in {"up-to-date", "fast-forward"}:
        write_files(view, result.files)
    if view.terminal and result.in_progress is not None:
        view.line()
        write_hint(view, f"resolve it: scopes conflicts list {quote(result.row.conversation)}")
    elif view.terminal and result.outcome != "up-to-date":
        if result.files:
            view.line()
        write_hint(view, f"merge it: scopes merge {quote(result.row.conversation)} mr/{request.number}")


def _style(row: MergeRequestRow) -> Style:
    return _STYLES.get(row.state, "")  # a later version may have other states


def _row(row: MergeRequestRow) -> tuple[str, ...]:
    request = row.request
    names = request.title, request.source, request.target, request.requester, request.opened
    return row.conversation, str(request.number), request.id, row.state, *names


def _terminal_row(row: MergeRequestRow, view: View) -> tuple[str | Span, ...]:
    request = row.request
    branches = f"{request.source} → {request.target}"
    state = Span(row.state, _style(row))
    opened = short_time(view, request.opened)
    return row.conversation, str(request.number), state, request.title, branches, request.requester, opened
