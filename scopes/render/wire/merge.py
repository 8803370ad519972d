"""Merges as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.conflicts import conflict_object
from scopes.render.wire.file_comparison import file_object

if TYPE_CHECKING:
    from scopes.conversation.merge_outcomes import (
        FastForwarded,
        MergeAborted,
        MergeConflicted,
        Merged,
        MergeOutcome,
        UpToDate,
    )
    from scopes.merge.recorded_work import Alternatives, SideTests


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
        conflicts=[conflict_object(number, each) for number, each in enumerate(result.conflicts, before + 1)],
        files=[file_object(file) for file in result.files] or None,
        tests=tests_object(result.tests),
        plans=[without_none(**step._asdict()) for step in result.plans] or None,
        alternatives=None if result.alternatives is None else _alternatives(result.alternatives),
        operation=result.operation,
        dry_run=result.dry_run or None,
        active_branch=result.active_branch,
    )


def tests_object(tests: SideTests) -> dict[str, object] | None:
    """Return the last run of each test command by side; None if there was none."""
    found = {name: [without_none(**run._asdict()) for run in runs] for name, runs in tests._asdict().items() if runs}
    return dict(found) or None


def _alternatives(alternatives: Alternatives) -> dict[str, object]:
    """Return two answers to one prompt."""
    return {name: {"id": head.id, "subject": head.subject} for name, head in alternatives._asdict().items()}
