"""Decisions as JSON, each with the message that made it."""

from __future__ import annotations

from scopes.conversation.decisions import DecisionList
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.message_shape import head_object


@to_wire.register(DecisionList)
def decision_list(result: DecisionList) -> dict[str, object]:
    """Lay out the decisions, oldest first."""
    decisions = [
        {"topic": row.topic, "decision": row.decision, "stands": row.current, "message": head_object(row.head)}
        for row in result.decisions
    ]
    return {"kind": "decision-list", "conversation": result.conversation, "decisions": decisions}
