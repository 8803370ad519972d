"""Render agents: the list, one agent, what was changed, and an agent card."""

from __future__ import annotations

import json
from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import UNDO_HINT, counted, short_time, write_field, write_hint, write_outcome
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.agents.agent import Agent
    from scopes.agents.card import AgentCard
    from scopes.agents.list import AgentList, AgentRow, AgentView
    from scopes.agents.register import AgentChanged

_COLUMNS = (
    Column("Number"), Column("Name"), Column("Type"), Column("Available"), Column("Conversations"),
    Column("Capabilities"), Column("Dependencies"), Column("Description"),
)  # fmt: skip
_TERMINAL_COLUMNS = (
    Column("No.", align="right"),
    Column("Name", "agent", flexible=True),
    Column("Type"),
    Column("Status"),
    Column("Conversations", align="right"),
    Column("Capabilities", flexible=True),
)


@render_text.register
def render_agent_list(result: AgentList, view: View) -> None:
    """Write a row for each agent; participants who are not registered have no number."""
    if not view.terminal:
        view.rows(_COLUMNS, map(_row, result.rows))
    elif not result.rows:
        view.line("There are no such agents.")
        write_hint(view, "register one: scopes agents register NAME --capability WORD")
    else:
        view.rows(_TERMINAL_COLUMNS, map(_terminal_row, result.rows), title="Agents")


@render_text.register
def render_agent_view(result: AgentView, view: View) -> None:
    """Write the fields of an agent."""
    agent = result.row.agent
    view.line(Span(result.row.name, "agent"))
    if agent is None:
        write_field(view, "Registered", "no")
    else:
        _write_agent(agent, view)
    write_field(view, "Written in", counted(result.row.conversations, "conversation"))
    if agent is None and view.terminal:
        write_hint(view, f"register it: scopes agents register {quote(result.row.name)}")


@render_text.register
def render_agent_changed(result: AgentChanged, view: View) -> None:
    """Write what was changed; in a pipe the number of the agent."""
    agent = result.agent
    words = {"registered": "registered", "updated": "updated", "removed": "removed"}.get(result.change, "is")
    end = "" if words != "is" else f" {result.change}"
    name = Span(agent.name, "agent")
    if words == "is":
        write_outcome(view, str(agent.number), "agent ", name, f" is{end}")
    else:
        write_outcome(view, str(agent.number), f"{words} agent ", name, f", number {agent.number}")
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_agent_card(result: AgentCard, view: View) -> None:
    """Write the card as indented JSON."""
    view.exact(json.dumps(dict(result.card), indent=2, ensure_ascii=False) + "\n")


def _write_agent(agent: Agent, view: View) -> None:
    write_field(view, "Number", str(agent.number))
    write_field(view, "Type", agent.type)
    write_field(view, "Status", _status(agent))
    if agent.description:
        write_field(view, "Description", " ".join(agent.description.split()))
    if agent.capabilities:
        write_field(view, "Capabilities", ", ".join(agent.capabilities))
    if agent.dependencies:
        write_field(view, "Depends on", ", ".join(agent.dependencies))
    for name, value in sorted(agent.metadata.items()):
        write_field(view, name, " ".join(value.split()))
    write_field(view, "Registered", short_time(view, agent.registered))


def _status(agent: Agent) -> Span:
    return Span("available", "good") if agent.available else Span("away", "warn")


def _row(row: AgentRow) -> tuple[str, ...]:
    agent = row.agent
    if agent is None:
        return "", row.name, "", "", str(row.conversations), "", "", ""
    available = "yes" if agent.available else "no"
    lists = ",".join(agent.capabilities), ",".join(agent.dependencies)
    return str(agent.number), row.name, agent.type, available, str(row.conversations), *lists, agent.description


def _terminal_row(row: AgentRow) -> tuple[Cell, ...]:
    agent = row.agent
    if agent is None:
        return "", row.name, "", Span("not registered", "dim"), str(row.conversations), ""
    return (
        str(agent.number), row.name, agent.type, _status(agent), str(row.conversations), ", ".join(agent.capabilities),
    )  # fmt: skip
