"""Statistics as JSON."""

from __future__ import annotations

from scopes.conversation.stats import Stats
from scopes.history.usage import Tokens
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(Stats)
def stats(result: Stats) -> dict[str, object]:
    """Lay out the counts; where there are no messages there are no times, and tokens only where some were recorded."""
    total = result.all_tokens
    return known(
        kind="stats",
        conversation=result.conversation,
        conversations=result.conversations if result.conversation is None else None,
        branches=result.branches,
        messages=result.messages,
        characters=result.characters,
        files=result.files,
        files_changed=result.files_changed,
        tool_calls=result.tool_calls,
        authors=dict(result.authors),
        kinds=dict(result.kinds),
        models=dict(result.models),
        tools=dict(result.tools),
        tool_errors=dict(result.tool_errors),
        tokens=_tokens(total) if total is not None else None,
        tokens_by_model={model: _tokens(tokens) for model, tokens in result.tokens.items()} or None,
        first=result.first,
        last=result.last,
        duration_seconds=result.duration_seconds,
        active_seconds=result.active_seconds,
    )


def _tokens(tokens: Tokens) -> dict[str, object]:
    """Lay out what was recorded; `input` is all input, cached or not."""
    return known(input=tokens.input, **tokens._asdict())
