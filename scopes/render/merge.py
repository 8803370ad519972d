"""Show merges, rebases and cherry-picks: what was done, or the conflicts that stopped it, and the commands to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.conflicts import (
    write_conflict_notes,
    write_files,
    write_next_commands,
    write_open_conflicts,
    write_resolution_branch,
    write_resolved,
)
from scopes.render.phrases import SHORT_ID_LENGTH, UNDO_HINT, identifier, write_hint, write_outcome
from scopes.render.view import Column, Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from scopes.conversation.merge import FastForwarded, MergeConflicted, Merged, MergeOutcome, UpToDate
    from scopes.conversation.rebase import ReplayConflicted, ReplayOutcome

_PREVIEW = tuple(map(Column, ("Result", "Conversation", "Target", "Source", "Messages", "Conflicts")))


def render_up_to_date(result: UpToDate, view: View) -> None:
    """Write that the target has all messages of the source."""
    sentence = (_target(result), " is already up to date with ", _source(result))
    if result.dry_run:
        _write_preview("up-to-date", result, view, *sentence)
    else:
        write_outcome(view, result.target, *sentence)
        if not view.terminal:
            view.aside("".join(part if isinstance(part, str) else part.text for part in sentence))


def render_fast_forwarded(result: FastForwarded, view: View) -> None:
    """Write that the target was fast-forwarded, and by how many messages."""
    count = counted(len(result.messages), "message")
    if result.dry_run:
        sentence = (_target(result), " would be fast-forwarded to ", _source(result), f": {count}")
        _write_preview("fast-forward", result, view, *sentence)
        return
    sentence = (_target(result), " fast-forwarded to ", _source(result), f": {count}")
    write_outcome(view, result.target, *sentence)
    _write_active(result, view)
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


def render_merged(result: Merged, view: View) -> None:
    """Write how many messages of the source were merged, and list the automatically resolved conflicts."""
    number = len(result.messages) if result.source_messages is None else result.source_messages
    count = counted(number, "message")
    if result.dry_run:
        _write_preview("merged", result, view, _source(result), " would be merged into ", _target(result), f": {count}")
    else:
        by = () if result.message is None else (" by ", identifier(view, result.message))
        write_outcome(view, result.target, "merged ", _source(result), " into ", _target(result), *by, f": {count}")
    write_files(view, result.files)
    write_resolved(view, result.conflicts)
    _write_active(result, view)
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


def render_conflicted(result: MergeConflicted, view: View) -> None:
    """List the open conflicts, and the commands to resolve them and to continue."""
    number = counted(sum(each.status != "resolved" for each in result.conflicts), "conflict")
    unchanged = "would be unchanged" if result.dry_run else "is unchanged"
    if not view.terminal:
        if result.dry_run:
            _write_preview_row("conflict", result, view)
        else:
            view.line(result.branch)
        what = f"{result.conversation}/{result.target} {unchanged}: {number} with {result.source}"
        write_conflict_notes(view, what, result, "merge")
        write_files(view, result.files)
        return
    sign = Span("! ", "warn")
    view.sentence(sign, _target(result), f" {unchanged}: ", Span(number, "heading"), " with ", _source(result))
    sides = result.target, result.source
    write_open_conflicts(view, result.conflicts, sides, before=result.others.conflicts)
    write_files(view, result.files)
    write_resolved(view, result.conflicts)
    if not result.dry_run:
        write_resolution_branch(view, result.branch)
        write_next_commands(view, result, "merge")


def _write_preview(outcome: str, result: MergeOutcome, view: View, *sentence: str | Span) -> None:
    """Write what a merge would do; in a pipe a row, and the sentence as a note."""
    if view.terminal:
        view.sentence(*sentence)
        return
    _write_preview_row(outcome, result, view)
    view.aside("".join(part if isinstance(part, str) else part.text for part in sentence))


def _write_preview_row(outcome: str, result: MergeOutcome, view: View) -> None:
    """Write the outcome of a dry run as a row; its first word is the `result` in the JSON."""
    number = sum(conflict.status != "resolved" for conflict in result.conflicts)
    row = (outcome, result.conversation, result.target, result.source, str(len(result.messages)), str(number))
    view.rows(_PREVIEW, [row])


def _write_active(result: MergeOutcome, view: View) -> None:
    """Write which branch the merge made active."""
    if result.active_branch is not None:
        view.aside(f"active branch: {result.active_branch}")


def _target(result: MergeOutcome) -> Span:
    return Span(f"{result.conversation}/{result.target}", "branch")


def _source(result: MergeOutcome) -> Span:
    return Span(result.source, "branch")


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


def _branch(result: ReplayOutcome) -> Span:
    return Span(f"{result.conversation}/{result.moved_branch}", "branch")


def _base(result: ReplayOutcome) -> Span:
    return Span(result.onto or "", "branch")
