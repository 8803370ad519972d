"""Where a sub-agent comes from: the message whose tool call began it."""

from __future__ import annotations

from scopes.model.message import Message
from scopes.render.text.wording import SHORT_ID_LENGTH
from scopes.render.view import Span


def spawner(message: Message | None) -> str | None:
    """Return the message that spawned the agent that this one is the first of; empty where it is not known which."""
    spawned_by = None if message is None else message.extra.get("spawned_by")
    if not isinstance(spawned_by, dict):
        return None
    name = spawned_by.get("message")
    return name if isinstance(name, str) else ""


def spawned(message: Message | None) -> tuple[Span, ...]:
    """Say that here a sub-agent begins, and whose call began it."""
    name = spawner(message)
    if name is None:
        return ()
    return (Span(f"⮡ sub-agent of {name[:SHORT_ID_LENGTH]}" if name else "⮡ sub-agent", "branch"),)
