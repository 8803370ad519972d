"""Conversations as JSON: in a list, and one with its branches."""

from __future__ import annotations

from scopes.conversation.list import ConversationList, ConversationSummary
from scopes.conversation.show import BranchSummary, ConversationView
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known, staleness, utc
from scopes.render.wire.message_shape import head_object


@to_wire.register(ConversationList)
def conversation_list(result: ConversationList) -> dict[str, object]:
    """Lay out every conversation, newest first."""
    return {"kind": "conversation-list", "conversations": [_summary_object(row) for row in result.conversations]}


@to_wire.register(ConversationSummary)
def conversation_summary(result: ConversationSummary) -> dict[str, object]:
    """Lay out one conversation of a list."""
    return {"kind": "conversation", **_summary_object(result)}


@to_wire.register(ConversationView)
def conversation(result: ConversationView) -> dict[str, object]:
    """Lay out one conversation; here `branches` lists them."""
    return known(
        kind="conversation",
        id=result.id,
        uuid=result.uuid,
        title=result.title,
        participants=list(result.participants),
        active_branch=result.active_branch,
        messages=result.messages,
        created_at=utc(result.created_at),
        last_activity=result.last_activity,
        source=result.source,
        branches=[branch_object(branch) for branch in result.branches],
        recent=[head_object(head) for head in result.recent],
    )


@to_wire.register(BranchSummary)
def branch_summary(result: BranchSummary) -> dict[str, object]:
    """Lay out one branch by itself."""
    return {"kind": "branch", **branch_object(result)}


def branch_object(branch: BranchSummary) -> dict[str, object]:
    """Lay out a branch: `messages` are its own, `total` all that its tip reaches."""
    return known(
        name=branch.name,
        messages=branch.messages,
        total=branch.total,
        tip=branch.tip,
        fork=branch.fork,
        purpose=branch.purpose,
        agent=branch.agent,
        parent=branch.parent,
        status=branch.status,
        reason=branch.reason,
        active=branch.active,
        created_at=utc(branch.created_at),
        last_activity=branch.last_activity,
        summary=staleness(branch.newer) or None,
    )


def _summary_object(summary: ConversationSummary) -> dict[str, object]:
    return known(
        id=summary.id,
        uuid=summary.uuid,
        title=summary.title,
        participants=list(summary.participants),
        branches=summary.branches,
        messages=summary.messages,
        active_branch=summary.active_branch,
        created_at=utc(summary.created_at),
        last_activity=summary.last_activity,
        source=summary.source,
    )
