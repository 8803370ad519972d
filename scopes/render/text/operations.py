"""Render the operation log, undo and redo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import in_seconds
from scopes.model.operation import SAME_COMMAND
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import identifier, short_time, write_field, write_hint
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.undo import OperationList, OperationView, Undone
    from scopes.model.operation import Operation

_COLUMNS = (
    Column("ID"),
    Column("Time"),
    Column("Actor", "human", flexible=True),
    Column("Kind"),
    Column("Summary", flexible=True),
    Column("Command", hidden=True),
)
_UNDONE = (Column("ID"), Column("Outcome"))
_PREFIXES = ("refs/heads/", "refs/scopes/", "refs/")
_SYMBOLIC = "ref: "


@render_text.register
def render_operation_list(result: OperationList, view: View) -> None:
    """Write the operations, newest first."""
    if result.operations or not view.terminal:
        view.rows(_COLUMNS, (_row(record, view) for record in result.operations), title="Operations")
    else:
        view.line("There are no operations yet.")


@render_text.register
def render_operation_view(result: OperationView, view: View) -> None:
    """Write an operation with its actor, time and command, and every ref that it changed."""
    record = result.operation
    write_field(view, "Operation", Span(record.id, "id"))
    write_field(view, "Kind", record.kind)
    write_field(view, "Actor", Span(record.actor, "human"))
    write_field(view, "Time", Span(in_seconds(record.time), "time"))
    if record.command:
        write_field(view, "Command", record.command)
    if record.undoes is not None:
        write_field(view, "Undoes", identifier(view, record.undoes))
    for earlier in _earlier_of_command(record):
        write_field(view, "With", identifier(view, earlier), " (one step of undo)")
    write_field(view, "Commit", Span(result.commit, "id"))
    view.line()
    view.line(record.summary, indent=4)
    if record.changes:
        view.line()
    for change in record.changes:
        old, new = _ref_target(view, change.old), _ref_target(view, change.new)
        view.line(Span(_short_ref(change.ref), "branch"), ": ", old, " → ", new)


@render_text.register
def render_undone(result: Undone, view: View) -> None:
    """Write what was undone or redone, and how to reverse that; in a pipe the operation and the same words."""
    target = result.target
    done = result.summary
    verb = ("would redo" if result.redo else "would undo") if result.dry_run else "redone" if result.redo else "undone"
    by = f" by {target.actor}" if target.actor != result.actor and target.kind != "append" and not result.redo else ""
    if not view.terminal:
        view.rows(_UNDONE, [(result.operation or target.id, f"{verb}: {done}{by}")])
        return
    view.sentence(f"{verb}: ", done, by)
    if not result.dry_run:
        write_hint(view, "undo with: scopes undo" if result.redo else "redo with: scopes redo")


def _row(record: Operation, view: View) -> tuple[Cell, ...]:
    time = short_time(view, record.time)
    earlier = _earlier_of_command(record)
    same = f" (one step with {', '.join(each[:8] for each in earlier)})" if earlier else ""
    return identifier(view, record.id), time, record.actor, record.kind, record.summary + same, record.command


def _earlier_of_command(record: Operation) -> list[str]:
    """Return the ids of the operations that the same command recorded before."""
    found = record.details.get(SAME_COMMAND)
    return [str(each) for each in found] if isinstance(found, list) else []


def _ref_target(view: View, value: str | None) -> Span:
    """Return the value of a ref: a commit, another ref, or none."""
    if value is None:
        return Span("none", "dim")
    if value.startswith(_SYMBOLIC):
        return Span(_short_ref(value.removeprefix(_SYMBOLIC)), "branch")
    return identifier(view, value)


def _short_ref(ref: str) -> str:
    """Return the short name of a ref, as git shortens it."""
    prefix = next((prefix for prefix in _PREFIXES if ref.startswith(prefix)), "")
    return ref.removeprefix(prefix)
