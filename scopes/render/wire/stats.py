"""Statistics as JSON."""

from __future__ import annotations

from scopes.conversation.stats import Stats
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(Stats)
def stats(result: Stats) -> dict[str, object]:
    """Lay out the counts; a conversation without messages has no times."""
    return known(
        kind="stats",
        conversation=result.conversation,
        branches=result.branches,
        messages=result.messages,
        characters=result.characters,
        files=result.files,
        tool_calls=result.tool_calls,
        authors=dict(result.authors),
        kinds=dict(result.kinds),
        models=dict(result.models),
        tools=dict(result.tools),
        first=result.first,
        last=result.last,
        duration_seconds=result.duration_seconds,
    )
