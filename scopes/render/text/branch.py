"""Render branches and tags: branch, switch, abandon, rewind, tag."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scopes.clock import in_seconds
from scopes.history.messages import MessageHeader, display_time
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    UNKNOWN_TIME,
    author,
    begins_at,
    branch_reason,
    identifier,
    short_time,
    subject,
    write_outcome,
)
from scopes.render.view import Cell, Column, Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from scopes.conversation.branch import (
        BranchAbandoned,
        BranchCreated,
        BranchList,
        BranchRewound,
        BranchSwitched,
        Tagged,
        TagList,
    )
    from scopes.conversation.show import BranchRow

_REMOVED = (Column("ID"), Column("Author"), Column("Subject", flexible=True))
_WIDE = 100
_FULL_REASONS = 160  # columns
_TERMINAL_COLUMNS = (
    Column(""),
    Column("Branch", "branch", flexible=True),
    Column("Messages", align="right"),
    Column("In all", align="right"),
    Column("Purpose", flexible=True),
    Column("Agent", "agent", flexible=True),
    Column("Reason", flexible=True),
    Column("Status"),
    Column("Activity", "time"),
)
_PIPED_COLUMNS = (
    Column("Name"),
    Column("Messages"),
    Column("Total"),
    Column("Purpose"),
    Column("Agent"),
    Column("Status"),
    Column("Active"),
    Column("Last activity"),
    Column("Tip"),
    Column("Parent"),
    Column("Reason"),
)
_TAG_COLUMNS = (
    Column("Tag", "branch", flexible=True),
    Column("ID"),
    Column("Author", flexible=True),
    Column("Time"),
    Column("Subject", flexible=True),
    Column("OID", hidden=True),
)


@render_text.register
def render_branch_created(result: BranchCreated, view: View) -> None:
    """Write the name of the new branch and its parent."""
    name = Span(f"{result.conversation}/{result.name}", "branch")
    active = "; it is active now" if result.active else ""
    sentence = ("created ", name, " ", *begins_at(view, result.start, result.parent), active)
    write_outcome(view, result.name, *sentence, operation=result.operation)


@render_text.register
def render_branch_list(result: BranchList, view: View) -> None:
    """Write a table of branches, the active one with a star."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, map(_piped_row, result.branches))
        return
    crowded = {"Purpose", "Agent"} if view.width < _WIDE else set()
    explained = any(row.reason for row in result.branches)
    columns = [
        replace(column, hidden=column.name in crowded or (column.name == "Reason" and not explained))
        for column in _TERMINAL_COLUMNS
    ]
    view.rows(
        columns, (_terminal_row(row, view) for row in result.branches), title=f"Branches of {result.conversation}"
    )


@render_text.register
def render_branch_switched(result: BranchSwitched, view: View) -> None:
    """Write which branch is active now."""
    name = Span(f"{result.conversation}/{result.branch}", "active")
    if result.operation is None:
        write_outcome(view, result.branch, name, " is active already")
    else:
        before = Span(result.previous, "branch")
        write_outcome(view, result.branch, name, " is active now; before it was ", before, operation=result.operation)


@render_text.register
def render_branch_abandoned(result: BranchAbandoned, view: View) -> None:
    """Write the status of the branch and the active branch, which may have changed."""
    name = Span(f"{result.conversation}/{result.branch}", "branch")
    already = " already" if result.operation is None else ""
    active = Span(result.active_branch, "active")
    sentence = (name, f" is {result.status}{already}; the active branch is ", active)
    write_outcome(view, result.branch, *sentence, operation=result.operation)


@render_text.register
def render_branch_rewound(result: BranchRewound, view: View) -> None:
    """Write the number of removed messages and the last message now."""
    name = Span(f"{result.conversation}/{result.branch}", "branch")
    last = (" is empty",) if result.message is None else (" ends with ", identifier(view, result.message))
    if result.dry_run:
        _write_rewind_preview(result, view, name)
        return
    if result.operation is None:
        write_outcome(view, result.branch, name, *last, " already")
    else:
        removed = counted(result.messages, "message")
        write_outcome(view, result.branch, f"rewound {removed}; ", name, *last, " now", operation=result.operation)


def _write_rewind_preview(result: BranchRewound, view: View, name: Span) -> None:
    """Write the messages that would be removed, newest first."""
    if view.terminal:
        last = "be empty" if result.message is None else f"end with {identifier(view, result.message).text}"
        view.line(f"would rewind {counted(result.messages, 'message')}; ", name, f" would {last}")
    rows = (
        (identifier(view, head.id), author(head.author, head.author_kind), subject(head)) for head in result.removed
    )
    view.rows(_REMOVED, rows)


@render_text.register
def render_tagged(result: Tagged, view: View) -> None:
    """Write what was tagged, or which tag was removed."""
    name, where = Span(result.tag, "branch"), Span(result.conversation, "id")
    if result.oid is None:
        write_outcome(view, name, "removed the tag ", name, " from ", where, operation=result.operation)
    else:
        tip = identifier(view, result.oid)
        write_outcome(view, name, "tagged ", tip, " of ", where, " as ", name, operation=result.operation)


@render_text.register
def render_tag_list(result: TagList, view: View) -> None:
    """Write the tags by name, each with its message."""
    if result.tags or not view.terminal:
        rows = (_tag_row(name, head, view) for name, head in result.tags)
        view.rows(_TAG_COLUMNS, rows, title=f"Tags of {result.conversation}")
    else:
        view.line(Span(result.conversation, "id"), " has no tags.")


def _terminal_row(row: BranchRow, view: View) -> tuple[Cell, ...]:
    return (
        Span("*", "active") if row.active else "",
        Span(row.name, "active") if row.active else row.name,
        f"{row.messages:,}",
        f"{row.total:,}",
        row.purpose or "",
        row.agent or "",
        "" if row.reason is None else branch_reason(row.reason, row.session, brief=view.width < _FULL_REASONS),
        row.status,
        short_time(view, row.last_activity),
    )


def _piped_row(row: BranchRow) -> tuple[str, ...]:
    return (
        row.name,
        str(row.messages),
        str(row.total),
        row.purpose or "",
        row.agent or "",
        row.status,
        "*" if row.active else "",
        in_seconds(row.last_activity or UNKNOWN_TIME),
        row.tip,
        row.parent or "",
        "" if row.reason is None else branch_reason(row.reason, row.session),
    )


def _tag_row(name: str, head: MessageHeader, view: View) -> tuple[Cell, ...]:
    who = author(head.author, head.author_kind)
    time = short_time(view, display_time(head))
    return name, identifier(view, head.id), who, time, subject(head), head.oid
