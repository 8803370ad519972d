"""Rebases and cherry-picks as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.conflicts import conflict_document
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.conversation.rebase import ReplayAborted, ReplayConflicted, Replayed, ReplayOutcome, ReplayUpToDate


@to_wire.register
def format_replay_up_to_date(result: ReplayUpToDate) -> dict[str, object]:
    """Return the outcome of a replay that changed nothing."""
    return _outcome_object(result, "up-to-date")


@to_wire.register
def format_replayed(result: Replayed) -> dict[str, object]:
    """Return the outcome with the replayed messages."""
    return _outcome_object(result, "rebased" if result.kind == "rebase" else "picked")


@to_wire.register
def format_replay_conflicted(result: ReplayConflicted) -> dict[str, object]:
    """Return the outcome with the message that the replay stopped at and the number of those after it."""
    return _outcome_object(result, "conflict", result.others.conflicts) | {
        "stopped": result.stopped,
        "remaining": result.remaining,
    }


@to_wire.register
def format_replay_aborted(result: ReplayAborted) -> dict[str, object]:
    """Return the deleted branch and the active one."""
    return {
        "kind": f"{result.kind}-abort",
        "conversation": result.conversation,
        "source" if result.kind == "rebase" else "target": result.moved_branch,
        "branch": result.branch,
        "active_branch": result.active_branch,
        "operation": result.operation,
    }


def _outcome_object(result: ReplayOutcome, word: str, before: int = 0) -> dict[str, object]:
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
        map=[{"id": rewrite.id, "old": rewrite.old, "new": rewrite.new} for rewrite in result.replayed],
        conflicts=[conflict_document(number, each) for number, each in enumerate(result.conflicts, before + 1)],
        operation=result.operation,
        dry_run=result.dry_run or None,
    )
