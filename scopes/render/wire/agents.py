"""Agents as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.agents.delivery import describe_received
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.lazy_list import LazyList

if TYPE_CHECKING:
    from scopes.agents.agent import Agent
    from scopes.agents.card import AgentCard
    from scopes.agents.delivery import Delivered
    from scopes.agents.inbox import Inbox
    from scopes.agents.list import AgentList, AgentRow, AgentView
    from scopes.agents.register import AgentChanged
    from scopes.agents.send import Routed


@to_wire.register
def format_agent_list(result: AgentList) -> dict[str, object]:
    """Return the agents by number, then participants without one."""
    return {"kind": "agent-list", "agents": [_row_object(row) for row in result.rows]}


@to_wire.register
def format_agent_view(result: AgentView) -> dict[str, object]:
    """Return one agent or participant."""
    return {"kind": "agent", **_row_object(result.row)}


@to_wire.register
def format_agent_changed(result: AgentChanged) -> dict[str, object]:
    """Return an agent that was changed, and how."""
    change = without_none(change=result.change, operation=result.operation)
    return {"kind": "agent", "name": result.agent.name, **_agent_object(result.agent), **change}


@to_wire.register
def format_agent_card(result: AgentCard) -> dict[str, object]:
    """Return an agent card."""
    return {"kind": "agent-card", "card": dict(result.card)}


@to_wire.register
def format_routed(result: Routed) -> dict[str, object]:
    """Return who got a message and for whom it waits, by number (S4-30)."""
    return {
        "kind": "routing",
        "delivered_to": list(result.delivered_to),
        "queued_for": list(result.queued_for),
        "message": result.message,
        "oid": result.oid,
        "conversation": result.conversation,
        "branch": result.branch,
        "operation": result.operation,
    }


@to_wire.register
def format_inbox(result: Inbox) -> dict[str, object]:
    """Return the unread messages in the order of sending, and how many wait until the agent is available."""
    return without_none(
        kind="inbox",
        agent=result.agent.name,
        number=result.agent.number,
        messages=LazyList(describe_received, result.messages),
        waiting=result.waiting,
        ended=result.ended,
        operation=result.operation,
    )


@to_wire.register
def format_delivered(result: Delivered) -> dict[str, object]:
    """Return what was delivered to the program of an agent, and what failed."""
    return without_none(
        kind="delivery",
        agent=result.agent.name,
        number=result.agent.number,
        messages=list(result.messages),
        failed=result.failed,
        problem=result.problem,
    )


def _row_object(row: AgentRow) -> dict[str, object]:
    fields = {} if row.agent is None else _agent_object(row.agent)
    return {"name": row.name, "conversations": row.conversations, **fields}


def _agent_object(agent: Agent) -> dict[str, object]:
    return without_none(
        number=agent.number,
        type=agent.type,
        available=agent.available,
        description=agent.description or None,
        capabilities=list(agent.capabilities),
        dependencies=list(agent.dependencies),
        metadata=dict(agent.metadata),
        registered=agent.registered,
        updated=agent.updated,
    )
