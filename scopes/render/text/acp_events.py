"""Render the statistics and the log of `scopes acp`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import short_time
from scopes.render.view import Column, View

if TYPE_CHECKING:
    from scopes.server.acp.acp_events import AcpLog, AcpStats

_AGENTS = (
    Column("Agent", "agent", flexible=True),
    Column("Sessions"),
    Column("New"),
    Column("Resumed"),
    Column("Loaded"),
    Column("Forked"),
    Column("Injected"),
    Column("Failed", flexible=True),
    Column("Problems", flexible=True),
)
_EVENTS = (
    Column("Time"),
    Column("Agent", "agent", flexible=True),
    Column("Event"),
    Column("Details", flexible=True),
    Column("PID", hidden=True),
)


@render_text.register
def render_acp_stats(result: AcpStats, view: View) -> None:
    """Write a row for each agent."""
    if result.agents or not view.terminal:
        rows = ((row.agent, *map(str, row[1:7]), _counts(row.failures), _counts(row.problems)) for row in result.agents)
        view.rows(_AGENTS, rows, title="Agents behind scopes acp")
    else:
        view.line("No agent has run behind scopes acp yet.")


@render_text.register
def render_acp_log(result: AcpLog, view: View) -> None:
    """Write the events, newest first."""
    if result.events or not view.terminal:
        rows = (
            (short_time(view, row.time), row.agent, row.event, _details(row.details), str(row.pid))
            for row in result.events
        )
        view.rows(_EVENTS, rows, title="Events")
    else:
        view.line("Nothing is logged yet.")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _details(details: Mapping[str, Any]) -> str:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in details.items()}
    return ", ".join(f"{name}: {text}" for name, text in texts.items())
