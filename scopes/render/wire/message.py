"""Messages as JSON: recorded, amended, or read whole."""

from __future__ import annotations

from scopes.conversation.amend import MessageAmended
from scopes.conversation.append import MessageAppended
from scopes.conversation.cat import MessageView
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known, staleness
from scopes.render.wire.message_shape import message_object


@to_wire.register(MessageAppended)
def appended(result: MessageAppended) -> dict[str, object]:
    """Name the message that is on disk."""
    return {
        "kind": "message",
        "id": result.id,
        "oid": result.oid,
        "conversation": result.conversation,
        "branch": result.branch,
    }


@to_wire.register(MessageAmended)
def amended(result: MessageAmended) -> dict[str, object]:
    """Name the new message and the one that it amends or retracts."""
    return {
        "kind": "message",
        "id": result.id,
        "oid": result.oid,
        "conversation": result.conversation,
        "branch": result.branch,
        "retracts" if result.retracted else "amends": result.target,
    }


@to_wire.register(MessageView)
def viewed(result: MessageView) -> dict[str, object]:
    """Lay out one message and the place where it was found."""
    return message_object(result.head, result.message) | known(
        conversation=result.conversation, branch=result.branch, **staleness(result.newer)
    )
