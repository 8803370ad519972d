"""The operation log as JSON, and what undo and redo did."""

from __future__ import annotations

from scopes.conversation.operations import OperationList, OperationView
from scopes.conversation.undo import Undone
from scopes.model.operation import Operation
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(OperationList)
def operation_list(result: OperationList) -> dict[str, object]:
    """Lay out the operations, newest first."""
    return {"kind": "operation-list", "operations": [_operation_object(record) for record in result.operations]}


@to_wire.register(OperationView)
def operation(result: OperationView) -> dict[str, object]:
    """Lay out one operation and the commit that records it."""
    return {"kind": "operation", "operation": _operation_object(result.operation), "commit": result.commit}


@to_wire.register(Undone)
def undone(result: Undone) -> dict[str, object]:
    """Name the operation that was taken back, or done again, and the one that did it."""
    return {
        "kind": "redo" if result.redo else "undo",
        "target": _operation_object(result.target),
        "operation": result.operation,
    }


def _operation_object(record: Operation) -> dict[str, object]:
    """Lay out an operation under its own kind; a ref's absent value is that the ref was absent."""
    return known(
        kind=record.kind,
        id=record.id,
        summary=record.summary,
        command=record.command,
        actor=record.actor,
        time=record.time,
        refs=[known(ref=change.ref, old=change.old, new=change.new) for change in record.changes],
        undoes=record.undoes,
        details=record.details or None,
    )
