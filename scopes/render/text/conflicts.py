"""Render conflicts: list, show with both sides, resolve (S4-56)."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from shlex import quote
from typing import TYPE_CHECKING, Any

from scopes.history.messages import display_time
from scopes.merge.keys import can_have_value
from scopes.model.conflicts import ENDED
from scopes.model.message import list_support
from scopes.render.dispatch import render_text
from scopes.render.text.claims import claim_text
from scopes.render.text.conflict_phrases import (
    can_repeat,
    conflict_agents,
    conflict_key,
    conflict_title,
    earlier_line,
    earlier_resolution,
    severity,
    status,
)
from scopes.render.text.file_comparison import write_patch
from scopes.render.text.phrases import author, identifier, short_time, subject, write_field, write_hint, write_outcome
from scopes.render.view import Cell, Column, Span, View
from scopes.result import confidence, counted
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView, FileChanges
    from scopes.merge.conflicts import ConflictRow
    from scopes.model.conflicts import Conflict, Position, Resolution
    from scopes.render.color import Style

_HELD = "branch"  # nothing is in progress where the conflict is recorded
_PIPED_COLUMNS = (
    Column("Conversation"),
    Column("Number"),
    Column("ID"),
    Column("Type"),
    Column("Severity"),
    Column("About"),
    Column("Agents"),
    Column("Status"),
    Column("Since"),
    Column("Branch"),
    Column("Source"),
    Column("Target"),
)
_INDENT = 4
_MAX_LINES = 40


def render_conflict_list(result: ConflictList, view: View) -> None:
    """Write a table per branch and source with conflicts; in a pipe one row per conflict."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, (_piped_row(row, view) for row in result.conflicts))
        for row in result.conflicts:
            for earlier in row.conflict.earlier:
                view.aside(f"conflict {row.conflict.id[:8]} {earlier_line(view, row.conflict.key, earlier)}")
        return
    if not result.conflicts:
        view.line(f"There are no {'' if result.include_all else 'open '}conflicts.")
    for number, (_, rows) in enumerate(
        groupby(result.conflicts, key=attrgetter("conversation", "branch", "source", "target"))
    ):
        if number:
            view.line()
        _write_branch_conflicts(list(rows), view)
    if result.conflicts:
        row = result.conflicts[0]
        write_hint(view, f"show one: scopes conflicts show {quote(row.conversation)} {row.number}")


def render_conflict_view(result: ConflictView, view: View) -> None:
    """Write both sides of a conflict and how to resolve it."""
    _write_conflict(result, view)


def render_conflict_resolved(result: ConflictResolved, view: View) -> None:
    """Write the new status of the conflict, and how many are still open or the outcome of what was continued."""
    conflict = result.conflict
    name = identifier(view, conflict.id)
    subject = (" (", conflict_key(view, conflict), ")")
    operation = result.operation if result.continued is None else None
    to = () if result.escalated_to is None else (" to ", Span(result.escalated_to, "agent"))
    write_outcome(view, name, "conflict ", name, *subject, " is ", status(conflict), *to, operation=operation)
    if result.escalated_to is not None and not view.terminal:
        view.aside(f"escalated to {result.escalated_to}")
    if result.continued is not None:
        render_text(result.continued, view)
        return
    if result.kind == _HELD and not result.remaining:
        return
    if result.remaining:
        line = f"{counted(result.remaining, 'conflict')} still open: scopes conflicts list {quote(result.conversation)}"
    else:
        where, place = "", str(result.conversation)
        if result.others.total:
            where, place = f" on {result.branch}", f"{place}/{result.branch}"
        command = f"scopes {quote(result.kind)} {quote(place)} --continue"
        line = f"no conflict is open now{where}; continue: {command}"
    if view.terminal:
        write_hint(view, line)
    elif view.hints and not result.notes:
        view.aside(line)


def _write_branch_conflicts(rows: list[ConflictRow], view: View) -> None:
    """Write the conflicts of one branch, each in two lines: what it is about, and the values of both sides."""
    first = rows[0]
    sides = f"{first.target} <- {first.source}" if first.source else first.branch
    view.cut(Span(first.conversation, "id"), "  ", Span(sides, "branch"))
    width = max(view.cells(conflict_title(row.conflict)) for row in rows)
    for row in rows:
        conflict = row.conflict
        sign = Span("✓", "good") if conflict.status in ENDED else Span("!", "warn")
        title = Span(f"{conflict_title(conflict):<{min(width, view.width // 2)}}", "heading")
        when = Span(f"{conflict.status} {short_time(view, row.changed_at).text}", "dim")
        start = (f"{row.number:>2} ", sign, " ", title, "  ", severity(conflict), "  ", when)
        view.cut(*start, "  ", " / ".join(filter(None, (_agents(conflict.target), _agents(conflict.source)))))
        half = (view.width - 10) // 2
        left, right = (_values(conflict.key, side) for side in (conflict.target, conflict.source))
        view.line(*_fitted(view, left, half), Span("  /  ", "dim"), *_fitted(view, right, half), indent=5)
        for earlier in conflict.earlier:
            view.cut(Span("resolved before: ", "key"), *earlier_resolution(view, conflict.key, earlier), indent=5)


def _agents(positions: Sequence[Position]) -> str:
    return ", ".join(dict.fromkeys(position.agent for position in positions if position.agent is not None))


def _values(key: str, positions: Sequence[Position]) -> str:
    return "; ".join(claim_text(key, position.value) for position in positions) or "nothing"


def _fitted(view: View, text: str, width: int) -> tuple[Span, ...]:
    """Return a text cut to a number of cells."""
    return (Span(view.drawn(lambda part: part.cut(text), width=width)[0]),)


def _cells(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    conflict = row.conflict
    return (
        str(row.number),
        identifier(view, conflict.id),
        conflict.type,
        severity(conflict),
        conflict_key(view, conflict),
        conflict_agents(conflict),
        status(conflict),
    )


def _piped_row(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    return row.conversation, *_cells(row, view), short_time(view, row.opened_at), row.branch, row.source, row.target


def _write_conflict(result: ConflictView, view: View) -> None:
    """Write a conflict: fields, base, both sides, resolution, later messages, next steps."""
    row, conflict = result.row, result.row.conflict
    _write_fields(result, view)
    if conflict.base:
        view.line()
        _write_side(view, "Before:", "", conflict.key, conflict.base, result.texts)
    _write_sides(result, view)
    if result.file is not None:
        _write_file_changes(result.file, view)
    if conflict.resolution is not None:
        _write_resolution(conflict, conflict.resolution, view)
    if conflict.earlier:
        view.line()
    for earlier in conflict.earlier:
        write_field(view, "Resolved before", *earlier_resolution(view, conflict.key, earlier))
    _write_talk(result, view)
    if view.terminal and view.hints:
        _write_next_steps(row, result.sides, view)


def _write_talk(result: ConflictView, view: View) -> None:
    """Write what was said since the conflict was opened; below the newest position of each author what backs it."""
    if result.talk:
        view.line()
        view.line(Span("Messages since:", "key"))
    arguments = {each.message: each.argument for each in result.positions}
    for head in result.talk:
        when, argument = short_time(view, display_time(head)), arguments.get(head.id)
        words = subject(head) if argument is None else clean_line(argument.position)
        view.cut("[", when, "] ", author(head.author, head.author_kind), ": ", words)
        for text in () if argument is None else list_support(argument):
            _write_text(view, f"- {text}", _INDENT, "dim")


def _write_fields(result: ConflictView, view: View) -> None:
    row, conflict = result.row, result.row.conflict
    write_field(view, "Conflict", identifier(view, conflict.id), f" (number {row.number})")
    write_field(view, "Type", conflict.type, ", ", severity(conflict))
    write_field(view, "About", conflict_key(view, conflict))
    reached = _reached_at(result)
    write_field(view, "Status", status(conflict), ", ", short_time(view, reached))
    if reached != row.opened_at:
        write_field(view, "Opened", short_time(view, row.opened_at))
    if result.escalated_to is not None:
        write_field(view, "Escalated to", Span(result.escalated_to, "agent"))
    write_field(view, "Branch", Span(f"{row.conversation}/{row.branch}", "branch"))


def _reached_at(result: ConflictView) -> str:
    """Return when a conflict got its status: when it was escalated, first argued about, resolved, or opened."""
    match result.row.conflict.status:
        case "escalated":
            return result.escalated_at or result.row.changed_at
        case "debate" if result.talk:
            return display_time(result.talk[0]) or result.row.changed_at
    return result.row.changed_at


def _write_sides(result: ConflictView, view: View) -> None:
    row, conflict = result.row, result.row.conflict
    patches = ("", "") if result.file is None else (result.file.target_patch, result.file.source_patch)
    view.line()
    _write_side(view, "Target: ", row.target, conflict.key, conflict.target, result.texts, patches[0])
    view.line()
    _write_side(view, "Source: ", row.source, conflict.key, conflict.source, result.texts, patches[1])


def _write_file_changes(changes: FileChanges, view: View) -> None:
    view.line()
    write_field(view, "File", changes.comparison.verdict)
    write_patch(view, "Last edit of the target:", changes.target_patch)
    write_patch(view, "Last edit of the source:", changes.source_patch)


def _write_side(  # noqa: PLR0917 - a heading and its content
    view: View,
    word: str,
    branch: str,
    key: str,
    positions: Sequence[Position],
    texts: Mapping[str, str],
    patch: str = "",
) -> None:
    """Write one side: for each position its value, agent and confidence, and the text of its message.

    `patch` is what the side changed in a file: the numbers of its lines stand for a content that is not recorded.
    """
    view.cut(Span(word, "key"), Span(branch, "branch"))
    if not positions:
        view.line(Span("nothing", "dim"), indent=_INDENT)
    for position in positions:
        value = _value_text(key, position.value, patch)
        _write_text(view, value, _INDENT, "heading")
        view.cut(*_attribution(view, position), indent=_INDENT)
        text = texts.get(position.message or "", "")
        if text and text != value:
            _write_text(view, text, _INDENT + 2, "dim")


def _value_text(key: str, value: Any, patch: str) -> str:
    """Return the value of a side; with a patch, an edit of a file as `edit, +3 -1`."""
    match value:
        case {"content": _} | {"derived": _} | {"operation": "delete"}:
            pass
        case {"operation": str(operation)} if patch:
            lines = patch.split("\n")[2 if patch.startswith("--- ") else 0 :]
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            return f"{operation}, +{added} -{removed}"
    return claim_text(key, value)


def _attribution(view: View, position: Position) -> Iterator[str | Span]:
    yield "— "
    yield Span(position.agent, "agent") if position.agent is not None else "unknown author"
    if position.confidence is not None:
        yield f", {confidence(position.confidence)}"
    if position.message is not None:
        yield ", message "
        yield identifier(view, position.message)


def _write_text(view: View, text: str, indent: int, style: Style) -> None:
    """Write a text, on a terminal at most 40 rows of it."""
    if not view.paragraph(text, indent=indent, style=style, most=_MAX_LINES):
        view.line(Span(f"… {counted(text.count(chr(10)) + 1, 'line')} in all", "dim"), indent=indent)


def _write_resolution(conflict: Conflict, resolution: Resolution, view: View) -> None:
    """Write how the conflict was resolved (S4-57)."""
    view.line()
    what = claim_text(conflict.key, resolution.value) if resolution.choice == "value" else f"took {resolution.choice}"
    write_field(view, "Resolved", what, f"{_strategy(resolution)} by ", Span(resolution.actor, "agent"))
    if resolution.reason:
        write_field(view, "Reason", resolution.reason)
    if resolution.reused is not None:
        reused = resolution.reused
        because = f", because {reused.reason}" if reused.reason else ""
        name = identifier(view, reused.conflict)
        write_field(view, "As before", "resolved by ", Span(reused.actor, "agent"), because, " (conflict ", name, ")")
    for value in resolution.rejected:
        write_field(view, "Rejected", claim_text(conflict.key, value))


def _strategy(resolution: Resolution) -> str:
    """Return ` (automatic)`; nothing for what somebody resolved by hand: their name follows."""
    return "" if resolution.strategy == "manual" else f" ({resolution.strategy})"


def _write_next_steps(row: ConflictRow, sides: Sequence[str], view: View) -> None:
    if row.conflict.status in ENDED and row.kind == _HELD:
        return
    view.line()
    if row.conflict.status in ENDED:
        write_hint(view, f"continue: scopes {quote(row.kind)} {quote(row.conversation)} --continue")
        return
    finish = "" if row.kind == _HELD else " --continue"
    resolve = f"scopes conflicts resolve {quote(row.conversation)} {quote(row.conflict.id[:8])}"
    write_hint(view, f"take a side:    {resolve} --take source{finish}")
    if sides:
        write_hint(view, f"or another:     {', '.join(f'--take {side}' for side in sides[1:])}")
    if can_repeat(row.conflict):
        write_hint(view, f"as before:      {resolve} --as-before{finish}")
    if can_have_value(row.conflict.key):
        write_hint(view, f"edit a value:   {resolve} --edit")
    named = f"{quote(row.conversation)} {quote(row.conflict.id[:8])}"
    write_hint(view, f"argue:          scopes conflicts argue {named} TEXT")
    write_hint(view, f"let decide:     scopes conflicts escalate {named}")
    write_hint(view, f"discuss it:     scopes append {quote(row.conversation)}/{quote(row.branch)} TEXT")
