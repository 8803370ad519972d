"""Merges for people: what came in, or what stopped it, and how to go on or take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.merge.conflict_keys import shown_key
from scopes.render.dispatch import render_text
from scopes.render.text.conflict_phrases import write_conflict_lines
from scopes.render.text.phrases import counted, identifier, write_hint, write_outcome
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.conversation.merge import FastForwarded, MergeAborted, MergeConflicted, Merged, MergeOutcome

_MOST = 20


@render_text.register
def up_to_date(result: MergeOutcome, view: View) -> None:
    """Say that nothing was to be done."""
    write_outcome(view, result.target, _target(result), " has everything of ", _source(result), " already")


@render_text.register
def fast_forwarded(result: FastForwarded, view: View) -> None:
    """Say that the target moved forward, and by how much."""
    came = counted(len(result.messages), "message")
    if result.dry_run:
        write_outcome(view, result.target, _target(result), " would move forward to ", _source(result), f": {came}")
        return
    sentence = (_target(result), " moved forward to ", _source(result), f": {came}")
    write_outcome(view, result.target, *sentence, operation=result.operation)


@render_text.register
def merged(result: Merged, view: View) -> None:
    """Say what came in, and what was settled on the way."""
    came = counted(len(result.messages), "message")
    if result.dry_run:
        write_outcome(view, result.target, _source(result), " would be merged into ", _target(result), f": {came}")
    else:
        by = () if result.message is None else (" by ", identifier(view, result.message))
        write_outcome(view, result.target, "merged ", _source(result), " into ", _target(result), *by, f": {came}")
    if view.terminal:
        _say_settled(result, view)
        if result.operation is not None:
            write_hint(view, "undo with: scopes undo")


@render_text.register
def conflicted(result: MergeConflicted, view: View) -> None:
    """Say what both sides disagree on, and the three commands that lead out of it."""
    waiting = [(number, each) for number, each in enumerate(result.conflicts, 1) if each.status != "resolved"]
    if not view.terminal:
        view.line(result.branch)
        return
    number = counted(len(waiting), "conflict")
    stays = "would stay where it is" if result.dry_run else "stays where it is"
    view.line(_target(result), f" {stays}: ", Span(number, "heading"), " with ", _source(result))
    if not result.dry_run:
        view.line("the merge waits on what is the active branch now:")
        view.line(Span(result.branch, "active"), indent=4)
    view.line()
    write_conflict_lines(view, waiting[:_MOST], (result.target, result.source))
    if len(waiting) > _MOST:
        view.line(Span(f"    … and {len(waiting) - _MOST:,} more", "dim"))
    _say_settled(result, view)
    if not result.dry_run and view.hints:
        _say_ways_out(result, waiting[0][1].id, view)


@render_text.register
def aborted(result: MergeAborted, view: View) -> None:
    """Say which branch is gone, and where one stands again."""
    gone = Span(f"{result.conversation}/{result.branch}", "branch")
    active = Span(result.active_branch, "active")
    write_outcome(view, result.branch, "gave up ", gone, "; the active branch is ", active, operation=result.operation)


def _say_ways_out(result: MergeConflicted, first: str, view: View) -> None:
    chosen = result.conversation
    view.line()
    write_hint(view, f"look at one:     scopes conflicts show {chosen} {first[:8]}")
    write_hint(view, f"decide it:       scopes conflicts resolve {chosen} {first[:8]} --take source")
    write_hint(view, f"then go on:      scopes conv merge {chosen} --continue")
    write_hint(view, f"or give it up:   scopes conv merge {chosen} --abort")


def _say_settled(result: MergeOutcome, view: View) -> None:
    """Say what both sides disagreed on and nobody was asked about."""
    settled = [each for each in result.conflicts if each.status == "resolved" and each.resolution is not None]
    if not settled:
        return
    view.line()
    view.line(f"settled on the way: {counted(len(settled), 'conflict')}")
    for conflict in settled[:_MOST]:
        if conflict.resolution is not None:
            taken = f"{conflict.resolution.strategy}: {conflict.resolution.choice}"
            view.line(f"    {conflict.type}  {shown_key(conflict.key)}  ", Span(taken, "dim"))
    if len(settled) > _MOST:
        view.line(Span(f"    … and {len(settled) - _MOST:,} more", "dim"))


def _target(result: MergeOutcome) -> Span:
    return Span(f"{result.conversation}/{result.target}", "branch")


def _source(result: MergeOutcome) -> Span:
    return Span(result.source, "branch")
