"""Format the operation log, undo, redo and the change log as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import utc
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.conversation.changes import Change, ChangeLog
    from scopes.conversation.undo import OperationList, OperationView, Undone
    from scopes.model.operation import Operation


@to_wire.register
def format_operation_list(result: OperationList) -> dict[str, object]:
    """Return the operations, newest first."""
    return {"kind": "operation-list", "operations": [_operation_object(record) for record in result.operations]}


@to_wire.register
def format_operation_view(result: OperationView) -> dict[str, object]:
    """Return one operation and the commit that records it."""
    return {"kind": "operation", "operation": _operation_object(result.operation), "commit": result.commit}


@to_wire.register
def format_undone(result: Undone) -> dict[str, object]:
    """Return the operation or append that was undone or redone, and the operation that did it."""
    return without_none(
        kind="redo" if result.redo else "undo",
        target=_operation_object(result.target),
        also=[_operation_object(each) for each in result.also] or None,
        operation=result.operation,
        dry_run=result.dry_run or None,
        active_branch=result.active_branch,
    )


@to_wire.register
def format_change(result: Change) -> dict[str, object]:
    """Return one change; `before` or `after` is null if there was no value (S4-49)."""
    return {
        "kind": "change",
        "time": utc(result.time),
        "field_path": result.field_path,
        "operation": result.operation,
        "before": result.before,
        "after": result.after,
        "cause": result.cause,
        "source": result.source,
    }


@to_wire.register
def format_change_log(result: ChangeLog) -> dict[str, object]:
    """Return the whole log as one document; the registry has no conversation."""
    changes = [to_wire(item) for item in result.items]
    return without_none(kind="change-log", conversation=result.conversation, changes=changes)


def _operation_object(record: Operation) -> dict[str, object]:
    """Return an operation under its own kind; `old` or `new` is absent if the ref did not exist."""
    return without_none(
        kind=record.kind,
        id=record.id,
        summary=record.summary,
        command=record.command,
        actor=record.actor,
        time=record.time,
        refs=[without_none(ref=change.ref, old=change.old, new=change.new) for change in record.changes],
        undoes=record.undoes,
        details=record.details or None,
    )
