"""Merges as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.conflicts import conflict_document
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.document import plain

if TYPE_CHECKING:
    from scopes.conversation.merge import FastForwarded, MergeAborted, MergeConflicted, Merged, MergeOutcome, UpToDate


@to_wire.register
def format_up_to_date(result: UpToDate) -> dict[str, object]:
    """Return the outcome of a merge that changed nothing."""
    return _outcome_object(result, "up-to-date")


@to_wire.register
def format_fast_forwarded(result: FastForwarded) -> dict[str, object]:
    """Return the outcome with the messages that the target moved over."""
    return _outcome_object(result, "fast-forward")


@to_wire.register
def format_merged(result: Merged) -> dict[str, object]:
    """Return the outcome with the merged messages and the id of the merge message."""
    return _outcome_object(result, "merged") | without_none(message=result.message)


@to_wire.register
def format_merge_conflicted(result: MergeConflicted) -> dict[str, object]:
    """Return the outcome with the conflicts; `branch` is the conflict-resolution branch."""
    return _outcome_object(result, "conflict", result.others.conflicts) | {"resolution_required": True}


@to_wire.register
def format_merge_aborted(result: MergeAborted) -> dict[str, object]:
    """Return the deleted branch and the active one."""
    return {
        "kind": "merge-abort",
        "conversation": result.conversation,
        "branch": result.branch,
        "active_branch": result.active_branch,
        "operation": result.operation,
    }


def _outcome_object(result: MergeOutcome, word: str, before: int = 0) -> dict[str, object]:
    """Return what every outcome has (S4-9); `before` conflicts are listed before those of the merge."""
    return without_none(
        kind="merge",
        result=word,
        conversation=result.conversation,
        source=result.source,
        target=result.target,
        branch=result.branch,
        tip=result.tip,
        merged_messages=list(result.messages),
        conflicts=[conflict_document(number, each) for number, each in enumerate(result.conflicts, before + 1)],
        files=plain(result.files) or None,
        operation=result.operation,
        dry_run=result.dry_run or None,
        active_branch=result.active_branch,
    )
