"""Format branches and tags as JSON: branch, switch, abandon, rewind, tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.conversation import branch_object

if TYPE_CHECKING:
    from scopes.conversation.branch import (
        BranchAbandoned,
        BranchCreated,
        BranchList,
        BranchRewound,
        BranchSwitched,
        Tagged,
        TagList,
    )


@to_wire.register
def format_branch_created(result: BranchCreated) -> dict[str, object]:
    """Return the new branch."""
    return without_none(
        kind="branch",
        conversation=result.conversation,
        name=result.name,
        tip=result.tip,
        parent=result.parent,
        start=result.start,
        purpose=result.purpose,
        agent=result.agent,
        active=result.active,
        operation=result.operation,
    )


@to_wire.register
def format_branch_list(result: BranchList) -> dict[str, object]:
    """Return the branches, main first."""
    branches = [branch_object(branch) for branch in result.branches]
    return {"kind": "branch-list", "conversation": result.conversation, "branches": branches}


@to_wire.register
def format_branch_switched(result: BranchSwitched) -> dict[str, object]:
    """Return the active branch; without an operation it was active before."""
    return without_none(
        kind="switch",
        conversation=result.conversation,
        branch=result.branch,
        previous=result.previous,
        operation=result.operation,
    )


@to_wire.register
def format_branch_abandoned(result: BranchAbandoned) -> dict[str, object]:
    """Return the branch and its status; without an operation it had that status before."""
    return without_none(
        kind="abandon",
        conversation=result.conversation,
        branch=result.branch,
        status=result.status,
        active_branch=result.active_branch,
        operation=result.operation,
    )


@to_wire.register
def format_branch_rewound(result: BranchRewound) -> dict[str, object]:
    """Return the old and the new tip; without `message` the branch is empty."""
    return without_none(
        kind="rewind",
        conversation=result.conversation,
        branch=result.branch,
        messages=result.messages,
        old=result.old,
        new=result.new,
        message=result.message,
        operation=result.operation,
        dry_run=result.dry_run or None,
        removed=[head.id for head in result.removed] if result.dry_run else None,
    )


@to_wire.register
def format_tagged(result: Tagged) -> dict[str, object]:
    """Return the tag; its commit is absent if it was removed."""
    return without_none(
        kind="tag",
        conversation=result.conversation,
        name=result.tag,
        removed=result.oid is None,
        oid=result.oid,
        operation=result.operation,
    )


@to_wire.register
def format_tag_list(result: TagList) -> dict[str, object]:
    """Return the tags by name, each with its message."""
    tags = [{"name": name, "message": head.document()} for name, head in result.tags]
    return {"kind": "tag-list", "conversation": result.conversation, "tags": tags}
