"""The operation log for people, and what undo and redo did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import identifier, moment, say_field, say_hint, say_outcome
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.operations import OperationList, OperationView
    from scopes.conversation.undo import Undone
    from scopes.model.operation import Operation

_COLUMNS = (
    Column("ID"),
    Column("Time"),
    Column("Actor", "human", flexible=True),
    Column("Kind"),
    Column("Summary", flexible=True),
    Column("Command", hidden=True),
)
_PREFIXES = ("refs/heads/", "refs/scopes/", "refs/")
_SYMBOLIC = "ref: "


@render_text.register
def render_operation_list(result: OperationList, view: View) -> None:
    """Say the operations, newest first."""
    if result.operations or not view.terminal:
        view.rows(_COLUMNS, (_row(record, view) for record in result.operations), title="Operations")
    else:
        view.line("There are no operations yet.")


@render_text.register
def render_operation_view(result: OperationView, view: View) -> None:
    """Say who did what and when, and every ref that it moved."""
    record = result.operation
    say_field(view, "Operation", Span(record.id, "id"))
    say_field(view, "Kind", record.kind)
    say_field(view, "Actor", Span(record.actor, "human"))
    say_field(view, "Time", Span(record.time, "time"))
    if record.command:
        say_field(view, "Command", record.command)
    if record.undoes is not None:
        say_field(view, "Undoes", identifier(view, record.undoes))
    say_field(view, "Commit", Span(result.commit, "id"))
    view.line()
    view.line(record.summary, indent=4)
    if record.changes:
        view.line()
    for change in record.changes:
        old, new = _value(view, change.old), _value(view, change.new)
        view.line(Span(_shown(change.ref), "branch"), ": ", old, " → ", new)


@render_text.register
def render_undone(result: Undone, view: View) -> None:
    """Say what was taken back, or done again, and the way back."""
    done = result.target.summary.removeprefix("undo ") if result.redo else result.target.summary
    say_outcome(view, result.operation, "done again: " if result.redo else "undone: ", done)
    if view.terminal:
        say_hint(view, "undo with: scopes undo" if result.redo else "redo with: scopes redo")


def _row(record: Operation, view: View) -> tuple[Cell, ...]:
    time = moment(view, record.time)
    return identifier(view, record.id), time, record.actor, record.kind, record.summary, record.command


def _value(view: View, value: str | None) -> Span:
    """Say where a ref stood: a commit, another ref, or nowhere."""
    if value is None:
        return Span("none", "dim")
    if value.startswith(_SYMBOLIC):
        return Span(_shown(value.removeprefix(_SYMBOLIC)), "branch")
    return identifier(view, value)


def _shown(ref: str) -> str:
    """Shorten a ref as git does."""
    prefix = next((prefix for prefix in _PREFIXES if ref.startswith(prefix)), "")
    return ref.removeprefix(prefix)
