"""The beginning, the renaming and the end of conversations and branches, as JSON."""

from __future__ import annotations

from scopes.conversation.delete import BranchDeleted, ConversationDeleted
from scopes.conversation.new import ConversationCreated
from scopes.conversation.rename import Renamed
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(ConversationCreated)
def created(result: ConversationCreated) -> dict[str, object]:
    """Name the new conversation."""
    return known(
        kind="conversation",
        id=result.id,
        uuid=result.uuid,
        title=result.title,
        participants=list(result.participants),
        active_branch=result.branch,
        operation=result.operation,
    )


@to_wire.register(Renamed)
def renamed(result: Renamed) -> dict[str, object]:
    """Name what has another name; an absent old or new title is none."""
    return known(
        kind="rename",
        conversation=result.conversation,
        what=result.what,
        old=result.old,
        new=result.new,
        operation=result.operation,
    )


@to_wire.register(ConversationDeleted)
def conversation_deleted(result: ConversationDeleted) -> dict[str, object]:
    """Name the conversation that is in the trash."""
    return {
        "kind": "delete",
        "conversation": result.conversation,
        "branches": result.branches,
        "operation": result.operation,
    }


@to_wire.register(BranchDeleted)
def branch_deleted(result: BranchDeleted) -> dict[str, object]:
    """Name the branch that is in the trash and the tip that it had."""
    return {
        "kind": "delete-branch",
        "conversation": result.conversation,
        "branch": result.branch,
        "tip": result.tip,
        "operation": result.operation,
    }
