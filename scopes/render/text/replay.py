"""Rebases and cherry-picks as text: what was replayed, or where it stopped, and the commands to continue or undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.text.conflict_phrases import (
    MAX_LINES,
    write_aborted,
    write_conflict_notes,
    write_more,
    write_next_commands,
    write_open_conflicts,
    write_resolution_branch,
    write_resolved,
)
from scopes.render.text.phrases import SHORT_ID_LENGTH, identifier, write_hint, write_outcome, write_preview
from scopes.render.view import Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.conversation.rebase import ReplayAborted, ReplayConflicted, Replayed, ReplayOutcome, ReplayUpToDate
    from scopes.merge.replay import Rewrite


def render_replay_up_to_date(result: ReplayUpToDate, view: View) -> None:
    """Write that there was nothing to replay."""
    write = write_preview if result.dry_run else write_outcome
    if result.kind == "rebase":
        write(view, result.moved_branch, _branch(result), " is already based on ", _base(result))
    else:
        write(view, result.moved_branch, _branch(result), " already has these messages")


def render_replayed(result: Replayed, view: View) -> None:
    """Write how many messages were replayed, and where; a dry run lists them with their old and new commits."""
    count = counted(len(result.replayed), "message")
    words: tuple[str | Span, ...]
    match result.kind, result.dry_run:
        case "rebase", False:
            words = "rebased ", _branch(result), " onto ", _base(result), f": {count}"
        case "rebase", _:
            words = _branch(result), " would be rebased onto ", _base(result), f": {count}"
        case _, False:
            words = f"picked {count} onto ", _branch(result)
        case _:
            words = f"{count} would be picked onto ", _branch(result)
    write = write_preview if result.dry_run else write_outcome
    write(view, result.moved_branch, *words)
    if not view.terminal:
        return
    if result.dry_run:
        _write_rewrites(view, result.replayed)
    write_resolved(view, result.conflicts, listed=False)
    if result.operation is not None:
        write_hint(view, "undo with: scopes undo")


def render_replay_conflicted(result: ReplayConflicted, view: View) -> None:
    """Write at which message it stopped, the conflicts, and the commands to continue."""
    number = counted(sum(conflict.status != "resolved" for conflict in result.conflicts), "conflict")
    unchanged = " would be unchanged: " if result.dry_run else " is unchanged: "
    if not view.terminal:
        view.line(result.branch)
        stopped = result.stopped[:SHORT_ID_LENGTH]
        what = f"{result.conversation}/{result.moved_branch}{unchanged}{number} at message {stopped}"
        write_conflict_notes(view, what, result, result.kind)
        return
    sign = Span("! ", "warn")
    view.sentence(
        sign, _branch(result), unchanged, Span(number, "heading"), " at message ", identifier(view, result.stopped)
    )
    if not result.dry_run:
        view.line(f"{counted(len(result.replayed), 'message')} done, {result.remaining:,} to do after this one")
    sides: tuple[str, str] = result.moved_branch, result.stopped[:SHORT_ID_LENGTH]
    if result.kind == "rebase":
        sides = result.onto or "", result.moved_branch
    write_open_conflicts(view, result.conflicts, sides, before=result.others.conflicts)
    if not result.dry_run:
        write_resolution_branch(view, result.branch)
        write_next_commands(view, result, result.kind)


def render_replay_aborted(result: ReplayAborted, view: View) -> None:
    """Write which branch is active; in a pipe nothing."""
    write_aborted(view, result, result.kind)


def _branch(result: ReplayOutcome) -> Span:
    return Span(f"{result.conversation}/{result.moved_branch}", "branch")


def _base(result: ReplayOutcome) -> Span:
    return Span(result.onto or "", "branch")


def _write_rewrites(view: View, moved: Sequence[Rewrite]) -> None:
    for rewrite in moved[:MAX_LINES]:
        old, new = identifier(view, rewrite.old), identifier(view, rewrite.new)
        view.line(identifier(view, rewrite.id), "  ", old, " → ", new, indent=4)
    write_more(view, len(moved))
