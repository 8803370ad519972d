"""Render the statistics and the log of `scopes acp`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import short_time, write_hint
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.server.acp.acp_events import AcpLog, AcpStats

_NUMBERS = (
    Column("Agent", "agent", flexible=True),
    Column("Sessions"),
    Column("New"),
    Column("Resumed"),
    Column("Loaded"),
    Column("Forked"),
    Column("Injected"),
)
_AGENTS = (*_NUMBERS, Column("Failed"), Column("Problems"))  # on a terminal these two are below the table, whole
_EVENTS = (
    Column("Time"),
    Column("Agent", "agent"),
    Column("Event"),
    Column("Details"),
    Column("PID", hidden=True),
)
_SHORT: Final = 8  # digits of a commit
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@render_text.register
def render_acp_stats(result: AcpStats, view: View) -> None:
    """Write a row for each agent; on a terminal, what failed is in lines below."""
    if not view.terminal:
        rows = ((row.agent, *map(str, row[1:7]), _counts(row.failures), _counts(row.problems)) for row in result.agents)
        view.rows(_AGENTS, rows)
        return
    if not result.agents:
        view.line("No agent has run behind scopes acp yet.")
        return
    view.rows(
        _NUMBERS,
        ((row.agent, *map(str, row[1:7])) for row in result.agents),
        title="Agents behind scopes acp",
    )
    for row in result.agents:
        for word, counts in (("failed", row.failures), ("problems", row.problems)):
            if counts:
                view.hanging(Span(row.agent, "agent"), f", {word}: ", _counts(counts), hang=4)
    if any(row.failures or row.problems for row in result.agents):
        write_hint(view, "see: scopes acp --log")


@render_text.register
def render_acp_log(result: AcpLog, view: View) -> None:
    """Write the events, newest first; on a terminal the details are whole."""
    cells: list[tuple[Cell, ...]] = [(short_time(view, row.time), row.agent, row.event) for row in result.events]
    if not view.terminal:
        details = [_details(row.details) for row in result.events]
        pids = [str(row.pid) for row in result.events]
        view.rows(_EVENTS, ((*row, text, pid) for row, text, pid in zip(cells, details, pids, strict=True)))
        return
    if not cells:
        view.line("No events." if result.notes else "Nothing is logged yet.")
        return
    columns = (*_EVENTS[:3], Column("Details", paths=True))
    details = [", ".join(_shown_details(row.details)) for row in result.events]
    view.rows(columns, ((*row, text) for row, text in zip(cells, details, strict=True)))


def _shown_details(details: Mapping[str, Any]) -> list[str]:
    """Return the details as a person reads them: without what is not so, and commits short."""
    found = []
    for name, value in details.items():
        if value is False or value == []:
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list) else _text_of(value)
        found.append(f"{name.replace('_', ' ')}: {text[:_SHORT] if _COMMIT.fullmatch(text) else text}")
    return found


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _details(details: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_text_of(value)}" for name, value in details.items())


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
