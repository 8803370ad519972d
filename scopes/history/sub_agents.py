"""Recognize branches of sub-agents: they were started by a tool call of an agent and fork at the root commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scopes.history.messages import header_of, read_body
from scopes.ids import AgentName
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Objects


class SubAgent(NamedTuple):
    """The agent of a branch, and the message whose tool call spawned it; None if unknown."""

    agent: AgentName | None
    spawned_by: str | None


def is_spawned(message: Message) -> bool:
    """Return True if a message is the first one of a sub-agent."""
    return isinstance(message.extra.get("spawned_by"), dict)


def spawner_of(message: Message) -> str | None:
    """Return the id of the message whose tool call spawned the sub-agent that begins with this message."""
    spawned_by = message.extra.get("spawned_by")
    name = spawned_by.get("message") if isinstance(spawned_by, dict) else None
    return name if isinstance(name, str) else None


def find_sub_agent(objects: Objects, newest_first: Iterable[Commit]) -> SubAgent | None:
    """Return the sub-agent of a branch, given its commits; None if the first message is not a sub-agent's."""
    commits = list(newest_first)
    if not commits:
        return None
    first = read_body(objects, commits[-1])
    if not is_spawned(first):
        return None
    heads = map(header_of, commits)  # the first messages may be copies of other authors' messages
    agent = next((head.author for head in heads if head.author_kind == "agent"), None)
    return SubAgent(agent, spawner_of(first))
