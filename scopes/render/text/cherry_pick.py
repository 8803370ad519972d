"""Picked messages for people: what came to a branch, or what stopped it, and how to go on or take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, counted, write_hint, write_outcome
from scopes.render.text.replay_phrases import say_conflicts, say_moves, say_settled, say_stop, say_waiting, say_ways_out
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.conversation.cherry_pick import CherryPickConflicted, CherryPicked, CherryPickOutcome
    from scopes.conversation.cherry_pick_continue import CherryPickAborted


@render_text.register
def up_to_date(result: CherryPickOutcome, view: View) -> None:
    """Say that nothing was to be done."""
    write_outcome(view, result.target, _target(result), " has that already")


@render_text.register
def picked(result: CherryPicked, view: View) -> None:
    """Say how much came to the branch; beforehand also each message's commits."""
    moved = counted(len(result.moved), "message")
    if result.dry_run:
        write_outcome(view, result.target, f"{moved} would be picked for ", _target(result))
        if view.terminal:
            say_moves(view, result.moved)
        say_settled(view, result.conflicts)
        return
    write_outcome(view, result.target, f"picked {moved} for ", _target(result))
    say_settled(view, result.conflicts)
    if view.terminal and result.operation is not None:
        write_hint(view, "undo with: scopes undo")


@render_text.register
def conflicted(result: CherryPickConflicted, view: View) -> None:
    """Say which message stopped it, what it disagrees with, and the commands that lead on."""
    if not view.terminal:
        view.line(result.branch)
        return
    say_stop(view, (result.conversation, result.target), result.stopped, result.conflicts, foreseen=result.dry_run)
    if not result.dry_run:
        say_waiting(view, "cherry-pick", result.branch, len(result.moved), result.remaining)
    say_conflicts(view, result.conflicts, (result.target, result.stopped[:SHORT_ID_LENGTH]))
    if not result.dry_run:
        say_ways_out(view, "cherry-pick", result.conversation, result.conflicts)


@render_text.register
def aborted(result: CherryPickAborted, view: View) -> None:
    """Say which branch is gone, and where one stands again."""
    gone = Span(f"{result.conversation}/{result.branch}", "branch")
    active = Span(result.active_branch, "active")
    write_outcome(view, result.branch, "gave up ", gone, "; the active branch is ", active, operation=result.operation)


def _target(result: CherryPickOutcome) -> Span:
    return Span(f"{result.conversation}/{result.target}", "branch")
