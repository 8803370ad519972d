"""Merges as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.conflicts import conflict_object

if TYPE_CHECKING:
    from scopes.conversation.merge import FastForwarded, MergeAborted, MergeConflicted, Merged, MergeOutcome


@to_wire.register
def up_to_date(result: MergeOutcome) -> dict[str, object]:
    """Say that nothing was to be done."""
    return _outcome(result, "up-to-date")


@to_wire.register
def fast_forwarded(result: FastForwarded) -> dict[str, object]:
    """List the messages that the target moved over."""
    return _outcome(result, "fast-forward")


@to_wire.register
def merged(result: Merged) -> dict[str, object]:
    """List the merged messages, and name the merge message."""
    return _outcome(result, "merged") | without_none(message=result.message)


@to_wire.register
def conflicted(result: MergeConflicted) -> dict[str, object]:
    """List the conflicts, and name the conflict-resolution branch."""
    return _outcome(result, "conflict") | {"resolution_required": True}


@to_wire.register
def aborted(result: MergeAborted) -> dict[str, object]:
    """Name the branch that was deleted and the one that is active."""
    return {
        "kind": "merge-abort",
        "conversation": result.conversation,
        "branch": result.branch,
        "active_branch": result.active_branch,
        "operation": result.operation,
    }


def _outcome(result: MergeOutcome, word: str) -> dict[str, object]:
    """Return what every outcome has (S4-9)."""
    return without_none(
        kind="merge",
        result=word,
        conversation=result.conversation,
        source=result.source,
        target=result.target,
        branch=result.branch,
        tip=result.tip,
        merged_messages=list(result.messages),
        conflicts=[conflict_object(number, each) for number, each in enumerate(result.conflicts, 1)],
        operation=result.operation,
        dry_run=result.dry_run or None,
        active_branch=result.active_branch,
    )
