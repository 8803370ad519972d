"""A log as JSON: one line a message, under the message's own kind."""

from __future__ import annotations

from scopes.conversation.log import Log, LogEntry
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import staleness
from scopes.render.wire.message_shape import message_object


@to_wire.register(LogEntry)
def entry(result: LogEntry) -> dict[str, object]:
    """Lay out one message, with the branches whose tip it is."""
    return message_object(result.head, result.message, result.branches) | staleness(result.newer)


@to_wire.register(Log)
def log(result: Log) -> dict[str, object]:
    """Lay out the whole log as one document."""
    return {"kind": "log", "conversation": result.conversation, "messages": [to_wire(item) for item in result.items]}
