"""Rebases and cherry-picks as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.conflicts import conflict_object

if TYPE_CHECKING:
    from scopes.merge.replay_control import ReplayAborted, ReplayConflicted, Replayed, ReplayOutcome


@to_wire.register
def up_to_date(result: ReplayOutcome) -> dict[str, object]:
    """Say that nothing was to be done."""
    return _outcome(result, "up-to-date")


@to_wire.register
def replayed(result: Replayed) -> dict[str, object]:
    """List the replayed messages."""
    return _outcome(result, "rebased" if result.kind == "rebase" else "picked")


@to_wire.register
def conflicted(result: ReplayConflicted) -> dict[str, object]:
    """List the replayed messages, and name the one with conflicts."""
    return _outcome(result, "conflict") | {"stopped": result.stopped, "remaining": result.remaining}


@to_wire.register
def aborted(result: ReplayAborted) -> dict[str, object]:
    """Name the branch that was deleted and the one that is active."""
    return {
        "kind": f"{result.kind}-abort",
        "conversation": result.conversation,
        "source" if result.kind == "rebase" else "target": result.moved_branch,
        "branch": result.branch,
        "active_branch": result.active_branch,
        "operation": result.operation,
    }


def _outcome(result: ReplayOutcome, word: str) -> dict[str, object]:
    """Return the fields that every outcome has (S4-20)."""
    rebase = result.kind == "rebase"
    return without_none(
        kind=result.kind,
        result=word,
        conversation=result.conversation,
        source=result.moved_branch if rebase else None,
        onto=result.onto if rebase else None,
        target=None if rebase else result.moved_branch,
        branch=result.branch,
        tip=result.tip,
        messages=list(result.messages),
        map=[{"id": rewrite.id, "old": rewrite.old, "new": rewrite.new} for rewrite in result.moved],
        conflicts=[conflict_object(number, each) for number, each in enumerate(result.conflicts, 1)],
        operation=result.operation,
        dry_run=result.dry_run or None,
    )
