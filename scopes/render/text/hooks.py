"""Render what was done to the hooks of other programs, and how they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.color import Style
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import short_time, write_hint, write_outcome, write_unchanged
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.hosts.hook_target import HooksChanged, HookState
    from scopes.server.hook_status import HooksStatus

_SENTENCES = {
    "added": "Added the hooks of scopes to {file}",
    "replaced": "Brought the hooks of scopes in {file} up to date",
    "unchanged": "{file} has these hooks already",
    "removed": "Removed the hooks of scopes from {file}",
    "absent": "{file} has no hooks of scopes",
}
_COLUMNS = (
    Column("Agent", "agent"),
    Column("Hooks"),
    Column("Last turn", "time"),
    Column("Problem", flexible=True),
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
        write_hint(view, f"to remove them: scopes hooks remove {result.target}")


@render_text.register
def render_hooks_status(result: HooksStatus, view: View) -> None:
    """Write a row for each target."""
    view.rows(_COLUMNS, ((row.target, *_cells(row, view)) for row in result.hooks), title="Hooks")
    for row in result.hooks:
        if row.condition == "outdated":
            cure = f"to bring it up to date: scopes hooks install {row.target}"
            view.aside(f"{row.target} is outdated: {row.detail}; {cure}")


def _cells(row: HookState, view: View) -> tuple[str | Span, ...]:
    style: Style = "good" if row.condition == "installed" else "" if row.condition == "missing" else "bad"
    problem = row.problem or row.detail
    return (
        Span(row.condition, style),
        short_time(view, row.last),
        Span(problem, "bad" if row.problem else ""),
        row.file,
        "" if row.trailers is None else "on" if row.trailers else "off",
    )
