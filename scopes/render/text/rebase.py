"""Rebases for people: what was moved, or what stopped it, and how to go on or take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_hint, write_outcome
from scopes.render.text.replay_phrases import say_conflicts, say_moves, say_settled, say_stop, say_waiting, say_ways_out
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.conversation.rebase import RebaseConflicted, Rebased, RebaseOutcome
    from scopes.conversation.rebase_continue import RebaseAborted


@render_text.register
def up_to_date(result: RebaseOutcome, view: View) -> None:
    """Say that nothing was to be done."""
    write_outcome(view, result.source, _source(result), " stands on ", Span(result.onto, "branch"), " already")


@render_text.register
def rebased(result: Rebased, view: View) -> None:
    """Say how much was moved, and where; beforehand also each message's commits."""
    moved, onto = counted(len(result.moved), "message"), Span(result.onto, "branch")
    if result.dry_run:
        write_outcome(view, result.source, _source(result), " would be rebased onto ", onto, f": {moved}")
        if view.terminal:
            say_moves(view, result.moved)
        say_settled(view, result.conflicts)
        return
    write_outcome(view, result.source, "rebased ", _source(result), " onto ", onto, f": {moved}")
    say_settled(view, result.conflicts)
    if view.terminal and result.operation is not None:
        write_hint(view, "undo with: scopes undo")


@render_text.register
def conflicted(result: RebaseConflicted, view: View) -> None:
    """Say which message stopped it, what it disagrees with, and the commands that lead on."""
    if not view.terminal:
        view.line(result.branch)
        return
    say_stop(view, (result.conversation, result.source), result.stopped, result.conflicts, foreseen=result.dry_run)
    if not result.dry_run:
        say_waiting(view, "rebase", result.branch, len(result.moved), result.remaining)
    say_conflicts(view, result.conflicts, (result.onto, result.source))
    if not result.dry_run:
        say_ways_out(view, "rebase", result.conversation, result.conflicts)


@render_text.register
def aborted(result: RebaseAborted, view: View) -> None:
    """Say which branch is gone, and where one stands again."""
    gone = Span(f"{result.conversation}/{result.branch}", "branch")
    active = Span(result.active_branch, "active")
    write_outcome(view, result.branch, "gave up ", gone, "; the active branch is ", active, operation=result.operation)


def _source(result: RebaseOutcome) -> Span:
    return Span(f"{result.conversation}/{result.source}", "branch")
