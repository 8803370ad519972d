"""The methods of a store about its agents and their inboxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scopes.history.handles import StoreHandle

if TYPE_CHECKING:
    from scopes.agents.agent import AgentType
    from scopes.agents.inbox import Inbox
    from scopes.agents.list import AgentList, AgentView
    from scopes.agents.register import AgentChanged, AgentChanges
    from scopes.facts.propose import KeyAdded


@dataclass(frozen=True, slots=True)
class RegisteringStore(StoreHandle):
    """A store with registered agents, which are named by name, number, or a unique prefix of the name."""

    def register_agent(
        self,
        name: str,
        *,
        type: AgentType = "ai",  # noqa: A002
        description: str = "",
        capabilities: Sequence[str] = (),
        dependencies: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
        available: bool = True,
    ) -> AgentChanged:
        """Register a person or a program; it gets a number that is never used again.

        capabilities: words for what it can do, which address it: `@review`.
        dependencies: context keys; it runs in `run_facts` when one of them has new facts.
        """
        from scopes.agents.register import register

        return register(
            self.repository,
            name,
            agent_type=type,
            description=description,
            capabilities=capabilities,
            dependencies=dependencies,
            metadata=metadata,
            available=available,
        )

    def agents(self, *, capability: str | None = None, available: bool | None = None) -> AgentList:
        """Return the registered agents, by number, and other participants; or only agents that can do something.

        available: only agents that are available, or that are away.
        """
        from scopes.agents.list import list_agents

        return list_agents(self.repository, capability=capability, available=available)

    def agent(self, name: str) -> AgentView:
        """Return an agent, or a participant who is not registered."""
        from scopes.agents.list import show_agent

        return show_agent(self.repository, name)

    def update_agent(self, name: str, changes: AgentChanges) -> AgentChanged:
        """Change the fields of an agent; its number stays."""
        from scopes.agents.register import update

        return update(self.repository, name, changes)

    def set_agent_available(self, name: str, *, available: bool) -> AgentChanged:
        """Make an agent available, which delivers what waits for it; or unavailable."""
        from scopes.agents.register import set_availability

        return set_availability(self.repository, name, available=available)

    def remove_agent(self, name: str) -> AgentChanged:
        """Remove an agent from the registry; its messages stay."""
        from scopes.agents.register import remove as remove_from_registry

        return remove_from_registry(self.repository, name)

    def inbox(self, agent: str, *, acknowledge: bool = False, everything: bool = False) -> Inbox:
        """Return the unread messages of an agent, in the order of sending.

        acknowledge: take them out of the inbox; of several processes that do so at once, each message goes to one.
        everything: also those that ask for something that has ended
        """
        from scopes.agents.inbox import read_inbox

        return read_inbox(self.repository, agent, acknowledge=acknowledge, everything=everything)

    def add_fact_key(self, key: str) -> KeyAdded:
        """Add a context key for the facts of all conversations."""
        from scopes.facts.propose import add_key

        return add_key(self.repository, key)
