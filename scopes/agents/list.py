"""`agents list` and `agents show`: the registered agents, and other participants of conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote

from scopes.agents.agent import Agent
from scopes.agents.registry import Registry, suggest_capability
from scopes.errors import NotFound
from scopes.history.handles import ParticipantCache, participants_of
from scopes.history.names import conversation_ids, list_branch_tips, match_prefix
from scopes.ids import AgentName
from scopes.result import INLINE, Column, Note, Result
from scopes.store.objects import read_commit
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A registered agent, or the name of a participant who is not registered; `conversations` with messages of it."""

    name: AgentName
    agent: Agent | None = field(metadata=INLINE)
    conversations: int

    @property
    def status(self) -> str:
        """Whether the agent is available."""
        return "not registered" if self.agent is None else "available" if self.agent.available else "away"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentList(Result):
    """The registered agents by number, then other participants, those of most conversations first."""

    rows_in = "agents"
    columns = (
        Column("number", form="count"),
        Column("name"),
        Column("type"),
        Column("available", on="pipe"),
        Column("status", form="state", on="terminal"),
        Column("conversations", form="count"),
        Column("capabilities"),
        Column("dependencies", on="pipe"),
        Column("description", on="pipe"),
    )
    empty = "There are no such agents."

    agents: tuple[AgentRow, ...]

    @property
    def next_step(self) -> str:
        """How to register one, if there is none."""
        return "" if self.agents else "register one: scopes agents register NAME --capability WORD"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView(Result):
    """One agent or participant."""

    kind = "agent"
    columns = (
        Column("name"),
        Column("number"),
        Column("type"),
        Column("row.status", form="state"),
        Column("description"),
        Column("capabilities"),
        Column("dependencies", "Depends on"),
        Column("metadata"),
        Column("registered", form="time"),
        Column("updated", form="time"),
        Column("conversations", form="count"),
    )

    row: AgentRow = field(metadata=INLINE)

    @property
    def next_step(self) -> str:
        """How to register a participant."""
        return "" if self.row.agent else f"register it: scopes agents register {quote(self.row.name)}"


def list_agents(
    repository: Repository,
    *,
    capability: str | None = None,
    available: bool | None = None,
) -> AgentList:
    """List agents, and unless a capability or an availability is given also other participants.

    available: True for those that are available, False for those that are away.
    """
    registry = Registry(repository)
    agents = [
        agent
        for agent in registry.agents
        if (capability is None or capability.removeprefix("@") in agent.capabilities)
        and available in {None, agent.available}
    ]
    counts = count_conversations(repository)
    rows = [AgentRow(agent.name, agent, counts[agent.name]) for agent in agents]
    if capability is None and available is None:
        rows += _unregistered(registry, counts)
    notes = () if capability is None else _note_unknown(registry, capability.removeprefix("@"))
    return AgentList(agents=tuple(rows), notes=(*registry.notes, *notes))


def show_agent(repository: Repository, name: str) -> AgentView:
    """Show a registered agent by name, number or prefix, or a participant by name.

    Raises:
        NotFound, Ambiguous: there is no such agent or participant, or several.
    """
    registry = Registry(repository)
    counts = count_conversations(repository)
    try:
        agent = registry.find(name)
    except NotFound as error:
        found = {row.name: row for row in _unregistered(registry, counts)}
        if not any(each.startswith(name) for each in found):
            raise error from None
        return AgentView(row=found[AgentName(match_prefix(name, found, "agent", None))], notes=registry.notes)
    return AgentView(row=AgentRow(agent.name, agent, counts[agent.name]), notes=registry.notes)


def count_conversations(repository: Repository) -> Counter[AgentName]:
    """Return in how many conversations each participant has written."""
    counts: Counter[AgentName] = Counter()
    cache: ParticipantCache = {}
    for conversation in conversation_ids(repository):
        tips = (read_commit(repository, tip) for tip in list_branch_tips(repository, conversation).values())
        counts.update(participants_of(repository, tips, cache))
    return counts


def _note_unknown(registry: Registry, capability: str) -> tuple[Note, ...]:
    """Return a note if no registered agent has a capability."""
    if any(capability in agent.capabilities for agent in registry.agents):
        return ()
    hint = suggest_capability(registry.agents, capability)
    return (Note(f"no registered agent has the capability {capability!a}", hint),)


def _unregistered(registry: Registry, counts: Counter[AgentName]) -> Iterator[AgentRow]:
    known = {agent.name for agent in registry.agents}
    for name, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if name not in known:
            yield AgentRow(name, None, number)
