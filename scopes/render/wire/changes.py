"""The change log as JSON, one line a change."""

from __future__ import annotations

from scopes.conversation.changes import Change, ChangeLog
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import utc


@to_wire.register(Change)
def change(result: Change) -> dict[str, object]:
    """Lay out one change; null before or after says that there was nothing (S4-49)."""
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


@to_wire.register(ChangeLog)
def change_log(result: ChangeLog) -> dict[str, object]:
    """Lay out the whole log as one document."""
    changes = [to_wire(item) for item in result.items]
    return {"kind": "change-log", "conversation": result.conversation, "changes": changes}
