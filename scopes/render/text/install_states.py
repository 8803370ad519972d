"""Render how what was installed for other programs is: servers and skills, as a table like that of hooks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scopes.render.color import Style
from scopes.render.dispatch import render_text
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.handover.skill_status import SkillsStatus
    from scopes.hosts.install_state import InstallState
    from scopes.hosts.mcp_status import McpStatus

_PROBLEM = Column("Problem", flexible=True)  # on a terminal it is below the table, whole


@render_text.register
def render_mcp_status(result: McpStatus, view: View) -> None:
    """Write a row for each host; on a terminal the problems are lines below it."""
    _write_states(view, result.servers, "Server", result.home)


@render_text.register
def render_skills_status(result: SkillsStatus, view: View) -> None:
    """Write a row for each target, and one for each skill of the project; as `render_mcp_status`."""
    _write_states(view, result.skills, "Skill", result.home)


def _write_states(view: View, states: Sequence[InstallState], name: str, home: str) -> None:
    columns = (Column("Agent", "agent"), Column(name), _PROBLEM, Column("File", flexible=True, paths=True))
    shown = [at for at, column in enumerate(columns) if not (view.terminal and column is _PROBLEM)]
    rows = [(state.target, *_cells(state, view, home)) for state in states]
    view.rows([columns[at] for at in shown], ([row[at] for at in shown] for row in rows), title=f"{name}s")
    for state in states:
        what = f"{state.target} in this project" if state.in_project else state.target
        if state.condition == "outdated":
            view.aside(f"{what} is outdated: {state.detail}; to bring it up to date: {state.cure}")
        elif view.terminal and state.detail:
            view.aside(f"{what}: {state.detail}")


def _cells(state: InstallState, view: View, home: str) -> tuple[str | Span, str | Span, str]:
    """Return the condition, the detail and the file of a state."""
    style: Style = "good" if state.condition == "installed" else "" if state.condition == "missing" else "bad"
    return Span(state.condition, style), state.detail, short_path(state.file, view, home)


def short_path(file: str, view: View, home: str) -> str:
    """Return a path; on a terminal with ~ in place of the home directory."""
    is_short = view.terminal and home and file.startswith(os.path.join(home, ""))
    return f"~{file[len(home.rstrip(os.sep)) :]}" if is_short else file
