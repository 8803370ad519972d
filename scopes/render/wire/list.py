"""Format the list of conversations as JSON. A module of its own: `list` reads a cache without pygit2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import utc
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.conversation.list import ConversationList
    from scopes.index.caches import ConversationRow


@to_wire.register
def format_conversation_list(result: ConversationList) -> dict[str, object]:
    """Return every conversation, newest first."""
    document: dict[str, object] = {
        "kind": "conversation-list",
        "conversations": [_summary_object(row, result) for row in result.conversations],
    }
    document |= {"more": result.more} if result.more else {}
    return document | ({"damaged": list(result.damaged)} if result.damaged else {})


def _summary_object(summary: ConversationRow, result: ConversationList) -> dict[str, object]:
    """Return one conversation; without a title of its own, `title` is the beginning of its first prompt."""
    return without_none(
        id=summary.id,
        uuid=summary.uuid,
        title=summary.heading,
        title_source=summary.heading_source,
        participants=list(summary.participants),
        branches=summary.branches,
        messages=summary.messages,
        active_branch=summary.active_branch,
        created_at=utc(summary.created_at),
        last_activity=summary.last_activity,
        recorded_at=summary.recorded_at,
        source=summary.source,
        project=None if summary.directory is None else result.projects.get(summary.directory),
        directory=summary.directory,
        agent=summary.agent,
        model=summary.model,
        tags=None if summary.tags is None else list(summary.tags),
        ahead=summary.ahead,
        behind=summary.behind,
        copy_of=result.copies.get(summary.id),
    )
