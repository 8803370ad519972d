"""Format a conversation as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import utc
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.document import plain
from scopes.render.wire.fields import signature_fields
from scopes.render.wire.message import header_object

if TYPE_CHECKING:
    from scopes.conversation.show import ConversationView


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
