"""Render what was done to the hooks of other programs, and how they are."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.color import Style
from scopes.render.dispatch import render_text
from scopes.render.text.install_states import short_path
from scopes.render.text.phrases import short_time, write_hint, write_outcome, write_unchanged
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.hosts.hook_target import HooksChanged, HookState
    from scopes.live.hook_status import HooksStatus

_SENTENCES = {
    "added": "Added the hooks of scopes to {file}",
    "replaced": "Brought the hooks of scopes in {file} up to date",
    "unchanged": "{file} has these hooks already",
    "removed": "Removed the hooks of scopes from {file}",
    "absent": "{file} has no hooks of scopes",
}
_PROBLEM = Column("Problem", flexible=True)  # on a terminal it is below the table, whole
_UNITS = {"git": "commits were"}
_COLUMNS = (
    Column("Agent", "agent"),
    Column("Hooks"),
    Column("Last turn", "time"),
    _PROBLEM,
    Column("File", flexible=True, paths=True),
    Column("Trailers"),
)


@render_text.register
def render_hooks_changed(result: HooksChanged, view: View) -> None:
    """Write what happened to each file; with --print what would be in them."""
    for change in result.changes:
        if result.shown:
            if len(result.changes) > 1:
                view.line(f"# {change.file}")
            for line in change.text.splitlines():
                view.line(line)
            if view.terminal:
                write_hint(view, f"goes into {change.file}")
            continue
        sentence = _SENTENCES.get(change.state, "{file}").format(file=change.file)
        write_outcome(view, change.file, sentence)
        write_unchanged(view, change.state, sentence)
        if view.terminal and change.backup is not None:
            write_hint(view, f"the file as it was: {change.backup}")
    if result.advice is not None:
        view.aside(result.advice)
    if view.terminal and any(change.state in {"added", "replaced"} for change in result.changes):
        write_hint(view, f"to remove them: scopes setup {quote(result.target)} --only hooks --remove")


@render_text.register
def render_hooks_status(result: HooksStatus, view: View) -> None:
    """Write a row for each target; on a terminal the problems are lines below it."""
    shown = [at for at, column in enumerate(_COLUMNS) if not (view.terminal and column is _PROBLEM)]
    rows = [(row.target, *_cells(row, view, result.home)) for row in result.hooks]
    view.rows([_COLUMNS[at] for at in shown], ([row[at] for at in shown] for row in rows), title="Hooks")
    for row in result.hooks:
        if view.terminal and row.detail and row.condition != "outdated":
            view.aside(f"{row.target}: {row.detail}")
        if view.terminal and row.problem is not None:
            view.aside(f"{row.target}: the last {_UNITS.get(row.target, 'turn was')} not recorded: {row.problem}")
        if row.condition == "outdated":
            view.aside(f"{row.target} is outdated: {row.detail}; what to do: {row.cure}")
        elif view.terminal and row.cure is not None:
            write_hint(view, f"what to do: {row.cure}")


def _cells(row: HookState, view: View, home: str) -> tuple[str | Span, ...]:
    style: Style = "good" if row.condition == "installed" else "" if row.condition == "missing" else "bad"
    problem = "; ".join(filter(None, (row.detail, row.problem)))
    return (
        Span(row.condition, style),
        short_time(view, row.last),
        Span(problem, "bad" if row.problem else ""),
        short_path(row.file, view, home),
        "" if row.trailers is None else "on" if row.trailers else "off",
    )
