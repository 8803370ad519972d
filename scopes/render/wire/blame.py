"""Blame as JSON: each claim with the message that set it."""

from __future__ import annotations

from scopes.conversation.blame import BlameList
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.render.wire.message_shape import head_object


@to_wire.register(BlameList)
def blame_list(result: BlameList) -> dict[str, object]:
    """Lay out the claims, sorted by key."""
    rows = [
        known(key=row.key, agent=row.agent) | {"value": row.value, "message": head_object(row.head)}
        for row in result.rows
    ]
    place = known(conversation=result.revision.conversation, branch=result.revision.branch, oid=result.revision.oid)
    return {"kind": "blame", **place, "rows": rows}
