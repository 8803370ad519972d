"""Merges as text: what was merged, or the conflicts that stopped it, and the commands to continue or undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.merge.conflict_keys import shown_key
from scopes.render.dispatch import render_text
from scopes.render.text.conflict_phrases import write_conflict_lines
from scopes.render.text.phrases import counted, identifier, write_hint, write_outcome
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.conversation.merge import FastForwarded, MergeAborted, MergeConflicted, Merged, MergeOutcome, UpToDate

_MAX_LINES = 20


@render_text.register
def render_up_to_date(result: UpToDate, view: View) -> None:
    """Write that the target has all messages of the source."""
    write_outcome(view, result.target, _target(result), " is already up to date with ", _source(result))


@render_text.register
def render_fast_forwarded(result: FastForwarded, view: View) -> None:
    """Write that the target was fast-forwarded, and by how many messages."""
    count = counted(len(result.messages), "message")
    if result.dry_run:
        write_outcome(
            view, result.target, _target(result), " would be fast-forwarded to ", _source(result), f": {count}"
        )
        return
    sentence = (_target(result), " fast-forwarded to ", _source(result), f": {count}")
    write_outcome(view, result.target, *sentence, operation=result.operation)


@render_text.register
def render_merged(result: Merged, view: View) -> None:
    """Write how many messages were merged, and list the automatically resolved conflicts."""
    count = counted(len(result.messages), "message")
    if result.dry_run:
        write_outcome(view, result.target, _source(result), " would be merged into ", _target(result), f": {count}")
    else:
        by = () if result.message is None else (" by ", identifier(view, result.message))
        write_outcome(view, result.target, "merged ", _source(result), " into ", _target(result), *by, f": {count}")
    if view.terminal:
        _write_resolved(result, view)
        if result.operation is not None:
            write_hint(view, "undo with: scopes undo")


@render_text.register
def render_conflicted(result: MergeConflicted, view: View) -> None:
    """List the open conflicts, and the commands to resolve them and to continue."""
    unresolved = [(number, each) for number, each in enumerate(result.conflicts, 1) if each.status != "resolved"]
    if not view.terminal:
        view.line(result.branch)
        return
    number = counted(len(unresolved), "conflict")
    unchanged = "would be unchanged" if result.dry_run else "is unchanged"
    view.line(_target(result), f" {unchanged}: ", Span(number, "heading"), " with ", _source(result))
    if not result.dry_run:
        view.line("resolve the conflicts on this branch, which is now active:")
        view.line(Span(result.branch, "active"), indent=4)
    view.line()
    write_conflict_lines(view, unresolved[:_MAX_LINES], (result.target, result.source))
    if len(unresolved) > _MAX_LINES:
        view.line(Span(f"    … and {len(unresolved) - _MAX_LINES:,} more", "dim"))
    _write_resolved(result, view)
    if not result.dry_run and view.hints:
        _write_commands(result, unresolved[0][1].id, view)


@render_text.register
def render_aborted(result: MergeAborted, view: View) -> None:
    """Write which branch was deleted, and which one is active."""
    deleted = Span(f"{result.conversation}/{result.branch}", "branch")
    active = Span(result.active_branch, "active")
    write_outcome(
        view, result.branch, "aborted ", deleted, "; the active branch is ", active, operation=result.operation
    )


def _write_commands(result: MergeConflicted, first: str, view: View) -> None:
    conversation = result.conversation
    view.line()
    write_hint(view, f"show one:        scopes conflicts show {conversation} {first[:8]}")
    write_hint(view, f"resolve it:      scopes conflicts resolve {conversation} {first[:8]} --take source")
    write_hint(view, f"then continue:   scopes conv merge {conversation} --continue")
    write_hint(view, f"or abort it:     scopes conv merge {conversation} --abort")


def _write_resolved(result: MergeOutcome, view: View) -> None:
    """List the automatically resolved conflicts."""
    resolved = [each for each in result.conflicts if each.status == "resolved" and each.resolution is not None]
    if not resolved:
        return
    view.line()
    view.line(f"resolved automatically: {counted(len(resolved), 'conflict')}")
    for conflict in resolved[:_MAX_LINES]:
        if conflict.resolution is not None:
            choice = f"{conflict.resolution.strategy}: {conflict.resolution.choice}"
            view.line(f"    {conflict.type}  {shown_key(conflict.key)}  ", Span(choice, "dim"))
    if len(resolved) > _MAX_LINES:
        view.line(Span(f"    … and {len(resolved) - _MAX_LINES:,} more", "dim"))


def _target(result: MergeOutcome) -> Span:
    return Span(f"{result.conversation}/{result.target}", "branch")


def _source(result: MergeOutcome) -> Span:
    return Span(result.source, "branch")
