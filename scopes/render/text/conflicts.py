"""Conflicts for people: listed, shown with both sides, decided (S4-56)."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from scopes.conversation.conflicts import ConflictList, ConflictRow, ConflictView
from scopes.conversation.resolve_conflict import ConflictResolved
from scopes.render.text.conflict_phrases import about, agents, fitting, severity, status
from scopes.render.text.conflict_view import say_conflict
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import counted, identifier, moment, say_hint, say_outcome
from scopes.render.view import Cell, Column, Span, View

_WIDE = 110
_SEEN = (
    Column("#", align="right"),
    Column("ID"),
    Column("Type", flexible=True),
    Column("Severity"),
    Column("About", flexible=True),
    Column("Agents", "agent", flexible=True),
    Column("Status"),
    Column("Age"),
)
_PIPED = (
    Column("Conversation"),
    Column("Number"),
    Column("ID"),
    Column("Type"),
    Column("Severity"),
    Column("About"),
    Column("Agents"),
    Column("Status"),
    Column("Since"),
    Column("Branch"),
)


@render_text.register(ConflictList)
def conflict_list(result: ConflictList, view: View) -> None:
    """Say a table for every branch that waits; in a pipe a row for every conflict."""
    if not view.terminal:
        view.rows(_PIPED, (_piped_row(row, view) for row in result.conflicts))
        return
    if not result.conflicts:
        view.line("Nothing waits for a resolution.")
    for number, (_, waiting) in enumerate(groupby(result.conflicts, key=attrgetter("conversation", "branch"))):
        if number:
            view.line()
        _say_waiting(list(waiting), view)
    if result.conflicts:
        row = result.conflicts[0]
        say_hint(view, f"look at one: scopes conflicts show {row.conversation} {row.conflict.id[:8]}")


@render_text.register(ConflictView)
def conflict_view(result: ConflictView, view: View) -> None:
    """Say what each side says, and what to do about it."""
    say_conflict(result, view)


@render_text.register(ConflictResolved)
def conflict_resolved(result: ConflictResolved, view: View) -> None:
    """Say what holds now, and how many conflicts are left."""
    conflict = result.conflict
    name = identifier(view, conflict.id)
    subject = (" (", about(view, conflict), ")")
    say_outcome(view, name, "conflict ", name, *subject, " is ", status(conflict), operation=result.operation)
    if not view.terminal:
        return
    if result.remaining:
        left = counted(result.remaining, "conflict")
        say_hint(view, f"{left} still open: scopes conflicts list {result.conversation}")
    else:
        say_hint(view, f"nothing is open any more; go on: scopes conv {result.kind} {result.conversation} --continue")


def _say_waiting(rows: list[ConflictRow], view: View) -> None:
    """Say the conflicts of one branch: as a table, or in two lines each where that has no room."""
    first = rows[0]
    title = f"{first.conversation}: {first.source} into {first.target}, on {first.branch}"
    if view.width >= _WIDE:
        view.rows(_SEEN, (_seen_row(row, view) for row in rows), title=title)
        return
    view.line(*fitting(view, (Span(title, "heading"),)))
    for row in rows:
        conflict = row.conflict
        line = (f"{row.number:>3}  ", conflict.type, "  ", severity(conflict), "  ", about(view, conflict))
        view.line(*fitting(view, line))
        who = Span(agents(conflict), "agent")
        below = (
            "     ",
            identifier(view, conflict.id),
            "  ",
            who,
            "  ",
            status(conflict),
            "  ",
            moment(view, row.since),
        )
        view.line(*fitting(view, below))


def _seen_row(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    conflict = row.conflict
    return (
        str(row.number),
        identifier(view, conflict.id),
        conflict.type,
        severity(conflict),
        about(view, conflict),
        agents(conflict),
        status(conflict),
        moment(view, row.since),
    )


def _piped_row(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    return row.conversation, *_seen_row(row, view), row.branch
