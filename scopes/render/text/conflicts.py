"""Render conflicts: list, show with both sides, resolve (S4-56)."""

from __future__ import annotations

from itertools import groupby, zip_longest
from operator import attrgetter
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

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
    earlier_line,
    earlier_resolution,
    fit_line,
    severity,
    status,
)
from scopes.render.text.file_comparison import write_patch
from scopes.render.text.phrases import (
    author,
    counted,
    identifier,
    short_time,
    subject,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.view import Cell, Column, Span, View
from scopes.render.wrap import count_cells, truncate_line, wrap_line
from scopes.result import confidence
from scopes.sanitize import clean, clean_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView, FileChanges
    from scopes.merge.conflicts import ConflictRow
    from scopes.model.conflicts import Conflict, Position, Resolution
    from scopes.render.color import Style

_WIDE = 110
_HELD = "branch"  # nothing is in progress where the conflict is recorded
_TERMINAL_COLUMNS = (
    Column("#", align="right"),
    Column("ID"),
    Column("Type", flexible=True),
    Column("Severity"),
    Column("About", flexible=True),
    Column("Agents", "agent", flexible=True),
    Column("Status"),
    Column("Age"),
)
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
_CONFLICT_VIEW_WIDE = 120
_INDENT = "    "
_BETWEEN = Span(" │ ", "dim")
_MAX_LINES = 40
Line: TypeAlias = tuple[str | Span, ...]


@render_text.register
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
        write_hint(view, f"show one: scopes conflicts show {quote(row.conversation)} {quote(row.conflict.id[:8])}")


@render_text.register
def render_conflict_view(result: ConflictView, view: View) -> None:
    """Write both sides of a conflict and how to resolve it."""
    _write_conflict(result, view)


@render_text.register
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
        where, branch = "", ""
        if result.others.total:
            where, branch = f" on {result.branch}", f" --branch {quote(result.branch)}"
        command = f"scopes {quote(result.kind)} {quote(result.conversation)} --continue{branch}"
        line = f"no conflict is open now{where}; continue: {command}"
    if view.terminal:
        write_hint(view, line)
    elif view.hints and not result.notes:
        view.aside(line)


def _write_branch_conflicts(rows: list[ConflictRow], view: View) -> None:
    """Write the conflicts of one branch: as a table, or two lines each on a narrow terminal."""
    first = rows[0]
    joined = "onto" if first.kind == "rebase" else "into"
    sides = f"{first.source} {joined} {first.target}, " if first.source else ""
    title = f"{first.conversation}: {sides}on {first.branch}"
    if view.width >= _WIDE:
        view.rows(_TERMINAL_COLUMNS, (_terminal_row(row, view) for row in rows), title=title)
        for row in rows:
            for earlier in row.conflict.earlier:
                line = (f"{row.number} resolved before: ", *earlier_resolution(view, row.conflict.key, earlier))
                view.line(*fit_line(view, line))
        return
    view.line(*fit_line(view, (Span(title, "heading"),)))
    for row in rows:
        conflict = row.conflict
        line = (f"{row.number:>3}  ", conflict.type, "  ", severity(conflict), "  ", conflict_key(view, conflict))
        view.line(*fit_line(view, line))
        who = Span(conflict_agents(conflict), "agent")
        below = (
            "     ",
            identifier(view, conflict.id),
            "  ",
            who,
            "  ",
            status(conflict),
            "  ",
            short_time(view, row.changed_at),
        )
        view.line(*fit_line(view, below))
        for earlier in conflict.earlier:
            line = ("     resolved before: ", *earlier_resolution(view, conflict.key, earlier))
            view.line(*fit_line(view, line))


def _terminal_row(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    conflict = row.conflict
    return (
        str(row.number),
        identifier(view, conflict.id),
        conflict.type,
        severity(conflict),
        conflict_key(view, conflict),
        conflict_agents(conflict),
        status(conflict),
        short_time(view, row.changed_at),
    )


def _piped_row(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    *cells, _ = _terminal_row(row, view)
    return row.conversation, *cells, short_time(view, row.opened_at), row.branch, row.source, row.target


def _write_conflict(result: ConflictView, view: View) -> None:
    """Write a conflict: fields, base, both sides, resolution, later messages, next steps."""
    row, conflict = result.row, result.row.conflict
    _write_fields(result, view)
    if conflict.base:
        view.line()
        for line in _side(view, "Before:", "", conflict.key, conflict.base, result.texts, view.width):
            view.line(*line)
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
        view.line(*fit_line(view, ("[", when, "] ", author(head.author, head.author_kind), ": ", words)))
        for text in () if argument is None else list_support(argument):
            for line in _folded(view, f"- {text}", _INDENT, view.width, "dim"):
                view.line(*line)


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
    row, conflict, texts = result.row, result.row.conflict, result.texts
    wide = view.terminal and view.width >= _CONFLICT_VIEW_WIDE
    width = (view.width - len(_BETWEEN.text)) // 2 if wide else view.width
    patches = ("", "") if result.file is None else (result.file.target_patch, result.file.source_patch)
    target = _side(view, "Target: ", row.target, conflict.key, conflict.target, texts, width, patches[0])
    source = _side(view, "Source: ", row.source, conflict.key, conflict.source, texts, width, patches[1])
    view.line()
    if wide:
        _write_columns(view, target, source, width)
        return
    for line in (*target, (), *source):
        view.line(*line)


def _write_file_changes(changes: FileChanges, view: View) -> None:
    view.line()
    write_field(view, "File", changes.comparison.verdict)
    write_patch(view, "Last edit of the target:", changes.target_patch)
    write_patch(view, "Last edit of the source:", changes.source_patch)


def _write_columns(view: View, left: Iterable[Line], right: Iterable[Line], width: int) -> None:
    for one, other in zip_longest(left, right, fillvalue=()):
        used = sum(count_cells(part if isinstance(part, str) else part.text) for part in one)
        view.line(*one, " " * (width - used), _BETWEEN, *other)


def _side(  # noqa: PLR0917 - a heading, its content and the width
    view: View,
    word: str,
    branch: str,
    key: str,
    positions: Sequence[Position],
    texts: Mapping[str, str],
    width: int,
    patch: str = "",
) -> Iterator[Line]:
    """Yield the lines of one side: for each position its value, agent and confidence, and the text of its message.

    `patch` is what the side changed in a file: the numbers of its lines stand for a content that is not recorded.
    """
    yield from _cut(view, (Span(word, "key"), Span(branch, "branch")), width)
    if not positions:
        yield _INDENT, Span("nothing", "dim")
    for position in positions:
        value = _value_text(key, position.value, patch)
        yield from _folded(view, value, _INDENT, width, "heading")
        yield from _cut(view, (_INDENT, *_attribution(view, position)), width)
        text = texts.get(position.message or "", "")
        if text and text != value:
            yield from _folded(view, text, _INDENT + "  ", width, "dim")


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


def _cut(view: View, line: Line, width: int) -> Iterator[Line]:
    yield truncate_line(line, width) if view.terminal else line


def _folded(view: View, text: str, indent: str, width: int, style: Style) -> Iterator[Line]:
    """Yield the lines of a text, on a terminal wrapped and limited to 40 rows."""
    lines = clean(text).expandtabs(8).removesuffix("\n").split("\n")
    rows = lines
    if view.terminal:
        rows = [row for line in lines for row in wrap_line(line, max(width - len(indent), 20))]
    most = _MAX_LINES if view.terminal and len(rows) > _MAX_LINES + 1 else len(rows)
    for row in rows[:most]:
        yield indent, Span(row, style)
    if len(rows) > most:
        yield indent, Span(f"… {len(rows) - most} more lines", "dim")


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
    write_hint(view, f"argue:          scopes conflicts argue {named} --position TEXT")
    write_hint(view, f"let decide:     scopes conflicts escalate {named} --neutral")
    write_hint(view, f"discuss it:     scopes append {quote(row.conversation)}/{quote(row.branch)} TEXT")
