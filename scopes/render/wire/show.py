"""A conversation as JSON, with its branches."""

from __future__ import annotations

from scopes.conversation.show import BranchSummary, ConversationView
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known, staleness, utc
from scopes.render.wire.message_shape import head_object


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
