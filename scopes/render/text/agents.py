"""Render agents: the list, one agent, what was changed, an agent card; what was sent, and an inbox."""

from __future__ import annotations

import json
from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.json_line import json_lines
from scopes.render.text.phrases import (
    UNDO_HINT,
    counted,
    describe_receivers,
    identifier,
    short_time,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.agents.agent import Agent
    from scopes.agents.card import AgentCard
    from scopes.agents.delivery import Delivered
    from scopes.agents.inbox import Inbox
    from scopes.agents.list import AgentList, AgentRow, AgentView
    from scopes.agents.received import ReceivedMessage
    from scopes.agents.register import AgentChanged
    from scopes.agents.send import Routed

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


_INBOX_COLUMNS = (
    Column("Message"), Column("Conversation"), Column("Branch"), Column("From"), Column("Sent"), Column("Text"),
)  # fmt: skip


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
    agent, change = result.agent, result.change
    name = Span(agent.name, "agent")
    if change in {"registered", "updated", "removed"}:
        write_outcome(view, str(agent.number), f"{change} agent ", name, f", number {agent.number}")
    else:  # available, away or unchanged
        write_outcome(view, str(agent.number), "agent ", name, f" is {change}")
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_routed(result: Routed, view: View) -> None:
    """Write who got the message and for whom it waits; in a pipe its id, and the rest as notes."""
    parts = describe_receivers(result.delivered_to, result.queued_for)
    name = identifier(view, result.message)
    if not view.terminal:
        view.line(name)
        view.aside("; ".join(parts))
        return
    view.sentence(
        "sent ", name, " in ", Span(f"{result.conversation}/{result.branch}", "branch"), f": {'; '.join(parts)}"
    )
    write_hint(view, UNDO_HINT)


@render_text.register
def render_inbox(result: Inbox, view: View) -> None:
    """Write the messages: on a terminal with their texts, in a pipe one row each."""
    if not view.terminal:
        columns = (*_INBOX_COLUMNS, Column("Ended")) if view.options.ended else _INBOX_COLUMNS
        view.rows(columns, (_inbox_row(each, view)[: len(columns)] for each in result.messages))
        return
    if not result.messages:
        view.line("no unread messages for ", Span(result.agent.name, "agent"))
    for number, received in enumerate(result.messages):
        if number:
            view.line()
        entry = received.entry
        where = Span(f"{entry.conversation}/{entry.branch}", "branch")
        ended = () if received.ended is None else (", ", Span(received.ended, "dim"))
        view.sentence(
            identifier(view, entry.message), " from ", Span(entry.sender, "agent"), " in ", where, ", ",
            short_time(view, entry.sent), *ended,
        )  # fmt: skip
        view.body(_text_of(received), indent=4)
    if result.messages:
        view.line()
        messages = counted(len(result.messages), "unread message" if result.operation is None else "message")
        what = "for" if result.operation is None else "taken out of the inbox of"
        view.line(f"{messages} {what} ", Span(result.agent.name, "agent"), ", the oldest first")
    if result.messages and result.operation is None:
        options = "--ack" if all(each.ended is None for each in result.messages) else "--all --ack"
        write_hint(view, f"take them out of the inbox: scopes inbox {quote(result.agent.name)} {options}")


@render_text.register
def render_delivered(result: Delivered, view: View) -> None:
    """Write what was delivered; in a pipe the ids of the messages."""
    if not view.terminal:
        for message in result.messages:
            view.line(identifier(view, message))
    else:
        view.line(f"{counted(len(result.messages), 'message')} delivered to ", Span(result.agent.name, "agent"))


@render_text.register
def render_agent_card(result: AgentCard, view: View) -> None:
    """Write the card as indented JSON."""
    view.exact(json_lines(dict(result.card)))


def _text_of(received: ReceivedMessage) -> str:
    message = received.message
    if message is None:
        return "(the message is no longer in the store)"
    if message.text.strip() or message.payload is None:
        return message.text
    return json.dumps(dict(message.payload), ensure_ascii=False)


def _inbox_row(received: ReceivedMessage, view: View) -> tuple[Cell, ...]:
    entry = received.entry
    where = entry.conversation, entry.branch
    text, ended = _text_of(received), received.ended or ""
    return identifier(view, entry.message), *where, entry.sender, short_time(view, entry.sent), text, ended


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
    if agent.updated is not None:
        write_field(view, "Updated", short_time(view, agent.updated))


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
