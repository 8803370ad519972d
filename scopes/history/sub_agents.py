"""Sub-agents: lines of history that an agent's tool call began, and that go back to the conversation's root alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scopes.history.messages import head_of, read_message
from scopes.ids import AgentName
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Objects


class SubAgent(NamedTuple):
    """Who speaks on a branch of its own, and the message whose call began it, where that is known."""

    agent: AgentName | None
    spawned_by: str | None


def is_spawned(message: Message) -> bool:
    """Tell whether a message is the first of a sub-agent."""
    return isinstance(message.extra.get("spawned_by"), dict)


def spawner_of(message: Message) -> str | None:
    """Return the message whose tool call spawned the sub-agent that begins with this one."""
    spawned_by = message.extra.get("spawned_by")
    name = spawned_by.get("message") if isinstance(spawned_by, dict) else None
    return name if isinstance(name, str) else None


def find_sub_agent(objects: Objects, newest_first: Iterable[Commit]) -> SubAgent | None:
    """Describe the sub-agent whose messages these are, if the first of them says that it is one's."""
    commits = list(newest_first)
    if not commits:
        return None
    first = read_message(objects, commits[-1].oid)
    if not is_spawned(first):
        return None
    heads = map(head_of, commits)  # it may begin with a copy of what others said
    agent = next((head.author for head in heads if head.author_kind == "agent"), None)
    return SubAgent(agent, spawner_of(first))
