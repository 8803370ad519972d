"""Formats shared by the renderers of conflicts, merges and replays: severity, status, sides, what to do next."""

from __future__ import annotations

from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING

from scopes.merge.keys import NOUNS, decoded_key, display_key, group_of
from scopes.model.message import MESSAGES
from scopes.render.text.claims import claim_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, UNDO_HINT, identifier, short_time, write_hint
from scopes.render.view import Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scopes.conversation.merge import MergeAborted, MergeConflicted
    from scopes.conversation.rebase import ReplayAborted, ReplayConflicted
    from scopes.ids import BranchName
    from scopes.model.conflicts import Conflict, EarlierResolution, Position
    from scopes.render.color import Style

MAX_LINES = 20
_SEVERITY = 15  # cells at the right of a conflict
_STYLE_OF_SEVERITY: Mapping[str, Style] = {"high": "bad", "medium": "warn", "low": "dim"}
_CHOICES = {
    "both": "kept both sides",
    "source": "took the source",
    "target": "took the target",
    "base": "took the base",
}
_STYLE_OF_STATUS: Mapping[str, Style] = {"escalated": "warn", "resolved": "good"}


def severity(conflict: Conflict) -> Span:
    """Return the severity of a conflict in its style."""
    return Span(conflict.severity, _STYLE_OF_SEVERITY.get(conflict.severity, ""))


def status(conflict: Conflict) -> Span:
    """Return the status of a conflict in its style."""
    return Span(conflict.status, _STYLE_OF_STATUS.get(conflict.status, ""))


def conflict_key(view: View, conflict: Conflict) -> str:
    """Return the decoded key of a conflict: `decisions/auth`."""
    if group_of(conflict.key) == MESSAGES and view.terminal:
        return conflict.key[: len(MESSAGES) + 1 + SHORT_ID_LENGTH]
    return display_key(conflict.key) if view.terminal else decoded_key(conflict.key)


def conflict_title(conflict: Conflict) -> str:
    """Return what a conflict is about, as people read it: `decision cookies`."""
    group = group_of(conflict.key)
    name = conflict.key[len(MESSAGES) + 1 :][:SHORT_ID_LENGTH] if group == MESSAGES else display_key(conflict.key)
    return f"{NOUNS.get(group, group)} {name.removeprefix(f'{group}/')}"


def conflict_agents(conflict: Conflict) -> str:
    """Return the agents of both sides, those of the target first."""
    positions = (*conflict.target, *conflict.source)
    return ", ".join(dict.fromkeys(position.agent for position in positions if position.agent is not None))


def _side_spans(key: str, positions: Sequence[Position]) -> Iterator[str | Span]:
    """Yield the positions of a side as one line, each with its agent."""
    if not positions:
        yield Span("nothing", "dim")
    for number, position in enumerate(positions):
        yield ("; " if number else "") + claim_text(key, position.value)
        if position.agent is not None:
            yield " — "
            yield Span(position.agent, "agent")


def earlier_resolution(view: View, key: str, earlier: EarlierResolution) -> Iterator[str | Span]:
    """Yield how a conflict was resolved before: value and side, actor, date, reason and conflict."""
    values = "; ".join(claim_text(key, value) for value in earlier.values) or "nothing"
    yield f"{values} ({earlier.choice})" if earlier.choice not in {None, "value"} else values
    yield ", by "
    yield Span(earlier.actor, "agent")
    if earlier.time is not None:
        yield ", "
        yield short_time(view, earlier.time)
    if earlier.reason:
        yield f", because {earlier.reason}"
    yield " (conflict "
    yield identifier(view, earlier.conflict)
    yield ")"


def earlier_line(view: View, key: str, earlier: EarlierResolution) -> str:
    """Return how a conflict was resolved before, as one line of plain text."""
    parts = earlier_resolution(view, key, earlier)
    return "resolved before: " + "".join(part if isinstance(part, str) else part.text for part in parts)


def write_resolution_branch(view: View, branch: BranchName) -> None:
    """Name the conflict-resolution branch after a stop."""
    view.sentence(Span("talk about it on ", "dim"), Span(branch, "active"), Span(", which is active now", "dim"))


def write_open_conflicts(
    view: View,
    conflicts: Sequence[Conflict],
    sides: tuple[str, str],
    *,
    before: int = 0,
) -> None:
    """List the open conflicts; `sides` are the names of target and source.

    `before` is the number of conflicts that `conflicts list` has before them.
    """
    unresolved = [(number, each) for number, each in enumerate(conflicts, before + 1) if each.status != "resolved"]
    for number, conflict in unresolved[:MAX_LINES]:
        _write_conflict(view, number, conflict, sides)
    write_more(view, len(unresolved))


def write_more(view: View, count: int) -> None:
    """Write how many lines of a list are left out."""
    if count > MAX_LINES:
        view.line(Span(f"    … and {count - MAX_LINES:,} more", "dim"))


def write_next_commands(view: View, result: MergeConflicted | ReplayConflicted, kind: str) -> None:
    """List the commands that resolve a conflict and continue, and that skip or abort a merge, rebase or cherry-pick."""
    names = _names_of_open(result)
    conversation, first = result.conversation, names[0][0] if names else "ID"
    named = f"{quote(conversation)} {quote(first)}"
    write_hint(view, f"decide with: scopes conflicts resolve {named} --take source --continue")
    for name, _ in islice((pair for pair in names if can_repeat(pair[1])), 1):
        command = f"scopes conflicts resolve {quote(conversation)} {quote(name)} --as-before --continue"
        write_hint(view, f"as before:   {command}")
    write_hint(view, f"look at it:  scopes conflicts show {named}")
    if kind != "merge":
        write_hint(view, f"skip it:     scopes {quote(kind)} {quote(_place(result))} --skip")
    write_hint(view, f"stop with:   scopes {quote(kind)} {quote(_place(result))} --abort")


def _names_of_open(result: MergeConflicted | ReplayConflicted) -> list[tuple[str, Conflict]]:
    """Return the open conflicts with their names in commands: ids, or numbers if others are in progress."""
    numbered = enumerate(result.conflicts, result.others.conflicts + 1)
    several = result.others.total > 0
    return [
        (str(number) if several else each.id[:SHORT_ID_LENGTH], each)
        for number, each in numbered
        if each.status != "resolved"
    ]


def _place(result: MergeConflicted | ReplayConflicted) -> str:
    """Return the conversation, with the conflict-resolution branch if others are in progress."""
    return f"{result.conversation}/{result.branch}" if result.others.total else result.conversation


def write_conflict_notes(view: View, what: str, result: MergeConflicted | ReplayConflicted, kind: str) -> None:
    """Write notes for a pipe: what stopped, each open conflict, and the next commands unless it is a dry run."""
    view.aside(what)
    unresolved = _names_of_open(result)
    for name, conflict in unresolved[:MAX_LINES]:
        view.aside(f"conflict {name}: {conflict.type} {decoded_key(conflict.key)}")
        for earlier in conflict.earlier:
            view.aside(f"conflict {name} {earlier_line(view, conflict.key, earlier)}")
    conversation = result.conversation
    if len(unresolved) > MAX_LINES:
        view.aside(f"{len(unresolved) - MAX_LINES:,} more: scopes conflicts list {quote(conversation)}")
    if not result.dry_run and unresolved and view.hints:
        first = unresolved[0][0]
        view.aside(
            f"resolve each: scopes conflicts resolve {quote(conversation)} {quote(first)} --take source --continue"
        )
        view.aside(f"or abort: scopes {quote(kind)} {quote(_place(result))} --abort")


def write_aborted(view: View, result: MergeAborted | ReplayAborted, kind: str) -> None:
    """Write which branch is active; in a pipe nothing, as git does."""
    if view.terminal:
        view.sentence(
            f"aborted the {kind} in {result.conversation}; the active branch is ", Span(result.active_branch, "active")
        )
        write_hint(view, UNDO_HINT)


def _write_conflict(view: View, number: int, conflict: Conflict, sides: tuple[str, str]) -> None:
    """Write what a conflict is about, the values of both sides, and a line for each earlier resolution."""
    start = (f"{number:>3}  ", Span(conflict_title(conflict), "heading"), Span(f"  {conflict.type}", "dim"))
    view.pair(start, (severity(conflict),), at=_SEVERITY)
    width = min(max(map(len, sides)), view.width // 3)
    for branch, positions in zip(sides, (conflict.target, conflict.source), strict=True):
        name = branch if len(branch) <= width else f"{branch[: width - 1]}…"
        view.hanging(*_side_spans(conflict.key, positions), start=(Span(f"{name:<{width}}", "branch"), "  "), indent=5)
    for earlier in conflict.earlier:
        parts = earlier_resolution(view, conflict.key, earlier)
        view.hanging(*parts, start=(Span("resolved before: ", "key"),), hang=2, indent=5)


def can_repeat(conflict: Conflict) -> bool:
    """Return True if an open conflict can be resolved as it was before."""
    return conflict.status != "resolved" and [each.choice is None for each in conflict.earlier] == [False]


def write_resolved(view: View, conflicts: Iterable[Conflict], *, listed: bool = True) -> None:
    """Write the number of automatically resolved conflicts, and each of them if they are to be `listed`."""
    resolved = [(each, each.resolution) for each in conflicts if each.resolution is not None]
    if not resolved:
        return
    if not view.terminal:
        for conflict, resolution in resolved[:MAX_LINES] if listed else ():
            how = f"{_CHOICES.get(resolution.choice, resolution.choice)} ({resolution.strategy})"
            view.aside(f"resolved automatically: {conflict.type} {decoded_key(conflict.key)}: {how}")
        if not listed or len(resolved) > MAX_LINES:
            view.aside(f"resolved automatically: {counted(len(resolved), 'conflict')} in all")
        return
    for conflict, resolution in resolved[:MAX_LINES] if listed else ():
        what = f"{_CHOICES.get(resolution.choice, resolution.choice)} ({resolution.strategy})"
        view.hanging(conflict_title(conflict), Span(f": {what}", "dim"), start=(Span("resolved ", "key"),), indent=2)
    if not listed:
        view.line(f"resolved: {counted(len(resolved), 'conflict')}", indent=2)
    else:
        write_more(view, len(resolved))
