"""Format conversations as JSON: show, new, rename, delete, stats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import utc
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.document import plain
from scopes.render.wire.fields import heading_fields, signature_fields
from scopes.render.wire.message import header_object

if TYPE_CHECKING:
    from scopes.conversation.show import ConversationView
    from scopes.conversation.stats import Stats
    from scopes.history.activity import Tokens


@to_wire.register
def format_conversation_view(result: ConversationView) -> dict[str, object]:
    """Return one conversation with its branches; `title` is the beginning of the first prompt if it has none."""
    source = "title" if result.title is not None else None if result.opening is None else "prompt"
    return without_none(
        kind="conversation",
        id=result.id,
        uuid=result.uuid,
        title=result.title if result.title is not None else result.opening,
        title_source=source,
        participants=list(result.participants),
        active_branch=result.active_branch,
        messages=result.messages,
        created_at=utc(result.created_at),
        last_activity=result.last_activity,
        source=result.source,
        project=result.project,
        directory=result.directory,
        native_id=result.native_id,
        continues=None if result.continues is None else without_none(**result.continues._asdict()),
        models=list(result.models) or None,
        started=result.started,
        tokens=None if result.tokens is None else {"count": result.tokens, "method": "recorded"},
        branch=result.branch,
        redacted=None if result.redacted is None else without_none(original=result.redacted.original),
        in_progress=[without_none(**each._asdict()) for each in result.in_progress] or None,
        branches=plain(result.branches),
        recent=[
            header_object(each.head) | without_none(ending=each.ending) | signature_fields(each.signature)
            for each in result.recent
        ],
    )


@to_wire.register
def format_stats(result: Stats) -> dict[str, object]:
    """Return the counts; times are absent without messages, tokens if none were recorded."""
    total = result.all_tokens
    return without_none(
        kind="stats",
        conversation=result.conversation,
        branch=result.branch,
        **heading_fields(result.heading),
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
        tool_refusals=dict(result.tool_refusals),
        tokens=_tokens(total) if total is not None else None,
        tokens_by_model={model: _tokens(tokens) for model, tokens in result.tokens.items()} or None,
        first=result.first,
        last=result.last,
        duration_seconds=result.duration_seconds,
        active_seconds=result.active_seconds,
    )


def _tokens(tokens: Tokens) -> dict[str, object]:
    """Return recorded token usage; `input` is all input, cached or not."""
    return without_none(input=tokens.input, **tokens._asdict())
