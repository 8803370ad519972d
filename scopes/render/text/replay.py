"""Rebases and cherry-picks as text: what was replayed, or where it stopped, and the commands to continue or undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.conflict_phrases import write_conflict_lines
from scopes.render.text.phrases import SHORT_ID_LENGTH, counted, identifier, write_hint, write_outcome
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.merge.replay_control import ReplayAborted, ReplayConflicted, Replayed, ReplayOutcome, ReplayUpToDate
    from scopes.merge.rewrite import Rewrite
    from scopes.model.conflicts import Conflict

_MAX_LINES = 20


@render_text.register
def render_replay_up_to_date(result: ReplayUpToDate, view: View) -> None:
    """Write that there was nothing to replay."""
    if result.kind == "rebase":
        write_outcome(view, result.moved_branch, _branch(result), " is already based on ", _base(result))
    else:
        write_outcome(view, result.moved_branch, _branch(result), " already has these messages")


@render_text.register
def render_replayed(result: Replayed, view: View) -> None:
    """Write how many messages were replayed, and where; a dry run lists them with their old and new commits."""
    count = counted(len(result.moved), "message")
    words: tuple[str | Span, ...]
    match result.kind, result.dry_run:
        case "rebase", False:
            words = "rebased ", _branch(result), " onto ", _base(result), f": {count}"
        case "rebase", _:
            words = _branch(result), " would be rebased onto ", _base(result), f": {count}"
        case _, False:
            words = f"picked {count} for ", _branch(result)
        case _:
            words = f"{count} would be picked for ", _branch(result)
    write_outcome(view, result.moved_branch, *words)
    if not view.terminal:
        return
    if result.dry_run:
        _write_rewrites(view, result.moved)
    _write_resolved(view, result.conflicts)
    if result.operation is not None:
        write_hint(view, "undo with: scopes undo")


@render_text.register
def render_replay_conflicted(result: ReplayConflicted, view: View) -> None:
    """Write at which message it stopped, the conflicts, and the commands to continue."""
    if not view.terminal:
        view.line(result.branch)
        return
    number = counted(sum(conflict.status != "resolved" for conflict in result.conflicts), "conflict")
    unchanged = " would be unchanged: " if result.dry_run else " is unchanged: "
    view.line(_branch(result), unchanged, Span(number, "heading"), " at message ", identifier(view, result.stopped))
    if not result.dry_run:
        view.line("resolve the conflicts on this branch, which is now active:")
        view.line(Span(result.branch, "active"), indent=4)
        view.line(f"{counted(len(result.moved), 'message')} done, {result.remaining:,} to do after this one")
    sides: tuple[str, str] = result.moved_branch, result.stopped[:SHORT_ID_LENGTH]
    if result.kind == "rebase":
        sides = result.onto or "", result.moved_branch
    _write_conflicts(view, result.conflicts, sides)
    if not result.dry_run:
        _write_commands(view, result)


@render_text.register
def render_replay_aborted(result: ReplayAborted, view: View) -> None:
    """Write which branch was deleted, and which one is active."""
    deleted = Span(f"{result.conversation}/{result.branch}", "branch")
    active = Span(result.active_branch, "active")
    write_outcome(
        view, result.branch, "aborted ", deleted, "; the active branch is ", active, operation=result.operation
    )


def _branch(result: ReplayOutcome) -> Span:
    return Span(f"{result.conversation}/{result.moved_branch}", "branch")


def _base(result: ReplayOutcome) -> Span:
    return Span(result.onto or "", "branch")


def _write_rewrites(view: View, moved: Sequence[Rewrite]) -> None:
    for rewrite in moved[:_MAX_LINES]:
        old, new = identifier(view, rewrite.old), identifier(view, rewrite.new)
        view.line(identifier(view, rewrite.id), "  ", old, " → ", new, indent=4)
    if len(moved) > _MAX_LINES:
        view.line(Span(f"    … and {len(moved) - _MAX_LINES:,} more", "dim"))


def _write_conflicts(view: View, conflicts: Sequence[Conflict], sides: tuple[str, str]) -> None:
    """List the open conflicts; `sides` are the names of target and source."""
    unresolved = [(number, each) for number, each in enumerate(conflicts, 1) if each.status != "resolved"]
    view.line()
    write_conflict_lines(view, unresolved[:_MAX_LINES], sides)
    if len(unresolved) > _MAX_LINES:
        view.line(Span(f"    … and {len(unresolved) - _MAX_LINES:,} more", "dim"))


def _write_resolved(view: View, conflicts: Sequence[Conflict]) -> None:
    resolved = [each for each in conflicts if each.resolution is not None]
    if resolved:
        view.line(f"resolved automatically: {counted(len(resolved), 'conflict')}")


def _write_commands(view: View, result: ReplayConflicted) -> None:
    """List the commands that resolve a conflict, and that continue or abort."""
    conversation = result.conversation
    first = next((conflict.id[:8] for conflict in result.conflicts if conflict.status != "resolved"), "ID")
    if view.hints:
        view.line()
    write_hint(view, f"show one:        scopes conflicts show {conversation} {first}")
    write_hint(view, f"resolve it:      scopes conflicts resolve {conversation} {first} --take source")
    write_hint(view, f"then continue:   scopes conv {result.kind} {conversation} --continue")
    write_hint(view, f"or skip it:      scopes conv {result.kind} {conversation} --skip")
    write_hint(view, f"or abort it:     scopes conv {result.kind} {conversation} --abort")
