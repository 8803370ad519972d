"""Where a sub-agent comes from: the message whose tool call began it."""

from __future__ import annotations

from scopes.history.sub_agents import is_spawned, spawner_of
from scopes.model.message import Message
from scopes.render.text.phrases import SHORT_ID_LENGTH
from scopes.render.view import Span


def spawned(message: Message | None) -> tuple[Span, ...]:
    """Say that here a sub-agent begins, and whose call began it."""
    return () if message is None or not is_spawned(message) else (origin(None, spawner_of(message)),)


def origin(agent: str | None, spawner: str | None) -> Span:
    """Say `sub-agent explorer of k3x9abcd`, as far as it is known."""
    words = ("⮡ sub-agent", agent, f"of {spawner[:SHORT_ID_LENGTH]}" if spawner else None)
    return Span(" ".join(filter(None, words)), "branch")
