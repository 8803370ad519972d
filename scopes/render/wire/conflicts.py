"""Conflicts as JSON: listed, shown, decided."""

from __future__ import annotations

from scopes.conversation.conflicts import ConflictList, ConflictRow, ConflictView
from scopes.conversation.resolve_conflict import ConflictResolved
from scopes.render.wire.conflict_shape import conflict_object
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known, utc
from scopes.render.wire.message_shape import head_object


@to_wire.register(ConflictList)
def conflict_list(result: ConflictList) -> dict[str, object]:
    """Lay out the conflicts, each with the conversation and branch that it waits in."""
    listed = [conflict_object(row.number, row.conflict) | _place(row) for row in result.conflicts]
    return known(kind="conflict-list", conversation=result.conversation, conflicts=listed)


@to_wire.register(ConflictView)
def conflict_view(result: ConflictView) -> dict[str, object]:
    """Lay out a conflict with the texts of the messages behind it and what was said since."""
    row = result.row
    shape = conflict_object(row.number, row.conflict, result.texts) | _place(row)
    return {"kind": "conflict", **shape, "talk": [head_object(head) for head in result.talk]}


@to_wire.register(ConflictResolved)
def conflict_resolved(result: ConflictResolved) -> dict[str, object]:
    """Name the decision, and say how many conflicts are still open on the branch."""
    return {
        "kind": "resolution" if result.conflict.status == "resolved" else "escalation",
        "conversation": result.conversation,
        "branch": result.branch,
        "conflict": conflict_object(result.number, result.conflict),
        "message": result.message,
        "remaining": result.remaining,
        "operation": result.operation,
    }


def _place(row: ConflictRow) -> dict[str, object]:
    return known(
        conversation=row.conversation,
        branch=row.branch,
        source_branch=row.source,
        target_branch=row.target,
        since=utc(row.since),
    )
