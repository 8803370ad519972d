"""Picked messages as JSON: what came of it, and what was given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.render.wire.replay_shape import conflict_objects, moved_objects

if TYPE_CHECKING:
    from scopes.conversation.cherry_pick import CherryPickConflicted, CherryPicked, CherryPickOutcome
    from scopes.conversation.cherry_pick_continue import CherryPickAborted


@to_wire.register
def up_to_date(result: CherryPickOutcome) -> dict[str, object]:
    """Say that nothing was to be done."""
    return _outcome(result, "up-to-date")


@to_wire.register
def picked(result: CherryPicked) -> dict[str, object]:
    """Name what was picked."""
    return _outcome(result, "picked")


@to_wire.register
def conflicted(result: CherryPickConflicted) -> dict[str, object]:
    """Name what was picked and the message that stopped it, with its conflicts."""
    return _outcome(result, "conflict") | {"stopped": result.stopped, "remaining": result.remaining}


@to_wire.register
def aborted(result: CherryPickAborted) -> dict[str, object]:
    """Name the branch that is gone and the one that is active again."""
    return {
        "kind": "cherry-pick-abort",
        "conversation": result.conversation,
        "target": result.target,
        "branch": result.branch,
        "active_branch": result.active_branch,
        "operation": result.operation,
    }


def _outcome(result: CherryPickOutcome, word: str) -> dict[str, object]:
    """Return what every outcome has."""
    return known(
        kind="cherry-pick",
        result=word,
        conversation=result.conversation,
        target=result.target,
        branch=result.branch,
        tip=result.tip,
        messages=list(result.messages),
        map=moved_objects(result.moved),
        conflicts=conflict_objects(result.conflicts),
        operation=result.operation,
        dry_run=result.dry_run or None,
    )
