"""The turns of phrase that rebase and cherry-pick share: what was moved, what stopped it, the ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.text.conflict_phrases import write_conflict_lines
from scopes.render.text.phrases import counted, identifier, write_hint
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.ids import BranchName, ConversationId, MessageId
    from scopes.merge.replay import Rewrite
    from scopes.model.conflict import Conflict

_MOST = 20


def say_moves(view: View, moved: Sequence[Rewrite]) -> None:
    """Say which commit of a message takes the place of which, on a terminal the first twenty."""
    for each in moved[:_MOST]:
        line = (identifier(view, each.id), "  ", identifier(view, each.old), " → ", identifier(view, each.new))
        view.line(*line, indent=4)
    if len(moved) > _MOST:
        view.line(Span(f"    … and {len(moved) - _MOST:,} more", "dim"))


def say_stop(
    view: View, stays: tuple[ConversationId, str], stopped: MessageId, conflicts: Sequence[Conflict], *, foreseen: bool
) -> None:
    """Say which branch stays where it is, and because of which message."""
    found = counted(sum(conflict.status != "resolved" for conflict in conflicts), "conflict")
    where = Span("/".join(stays), "branch")
    verb = "would stay where it is" if foreseen else "stays where it is"
    view.line(where, f" {verb}: ", Span(found, "heading"), " at message ", identifier(view, stopped))


def say_waiting(view: View, kind: str, branch: BranchName, moved: int, remaining: int) -> None:
    """Say where it waits, and how far it has come."""
    view.line(f"the {kind} waits on what is the active branch now:")
    view.line(Span(branch, "active"), indent=4)
    view.line(f"{counted(moved, 'message')} done, {remaining:,} to do after this one")


def say_conflicts(view: View, conflicts: Sequence[Conflict], sides: tuple[str, str]) -> None:
    """Say the open conflicts with both their sides; `sides` names target and source."""
    waiting = [(number, each) for number, each in enumerate(conflicts, 1) if each.status != "resolved"]
    view.line()
    write_conflict_lines(view, waiting[:_MOST], sides)
    if len(waiting) > _MOST:
        view.line(Span(f"    … and {len(waiting) - _MOST:,} more", "dim"))


def say_settled(view: View, conflicts: Sequence[Conflict]) -> None:
    """Say how much both sides disagreed on and nobody was asked about."""
    settled = [each for each in conflicts if each.resolution is not None]
    if view.terminal and settled:
        view.line(f"settled on the way: {counted(len(settled), 'conflict')}")


def say_ways_out(view: View, kind: str, conversation: ConversationId, conflicts: Sequence[Conflict]) -> None:
    """Say the commands that lead on."""
    first = next((conflict.id[:8] for conflict in conflicts if conflict.status != "resolved"), "ID")
    if view.hints:
        view.line()
    write_hint(view, f"look at one:     scopes conflicts show {conversation} {first}")
    write_hint(view, f"decide it:       scopes conflicts resolve {conversation} {first} --take source")
    write_hint(view, f"then go on:      scopes conv {kind} {conversation} --continue")
    write_hint(view, f"or leave it out: scopes conv {kind} {conversation} --skip")
    write_hint(view, f"or give it up:   scopes conv {kind} {conversation} --abort")
