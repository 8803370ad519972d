"""Rebases as JSON: what came of one, and one that was given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.render.wire.replay_shape import conflict_objects, moved_objects

if TYPE_CHECKING:
    from scopes.conversation.rebase import RebaseConflicted, Rebased, RebaseOutcome
    from scopes.conversation.rebase_continue import RebaseAborted


@to_wire.register
def up_to_date(result: RebaseOutcome) -> dict[str, object]:
    """Say that nothing was to be done."""
    return _outcome(result, "up-to-date")


@to_wire.register
def rebased(result: Rebased) -> dict[str, object]:
    """Name what was moved."""
    return _outcome(result, "rebased")


@to_wire.register
def conflicted(result: RebaseConflicted) -> dict[str, object]:
    """Name what was moved and the message that stopped it, with its conflicts."""
    return _outcome(result, "conflict") | {"stopped": result.stopped, "remaining": result.remaining}


@to_wire.register
def aborted(result: RebaseAborted) -> dict[str, object]:
    """Name the branch that is gone and the one that is active again."""
    return {
        "kind": "rebase-abort",
        "conversation": result.conversation,
        "source": result.source,
        "branch": result.branch,
        "active_branch": result.active_branch,
        "operation": result.operation,
    }


def _outcome(result: RebaseOutcome, word: str) -> dict[str, object]:
    """Return what every outcome has (S4-20)."""
    return known(
        kind="rebase",
        result=word,
        conversation=result.conversation,
        source=result.source,
        onto=result.onto,
        branch=result.branch,
        tip=result.tip,
        messages=list(result.messages),
        map=moved_objects(result.moved),
        conflicts=conflict_objects(result.conflicts),
        operation=result.operation,
        dry_run=result.dry_run or None,
    )
