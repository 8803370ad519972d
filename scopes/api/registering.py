"""The methods of a store about its agents and their inboxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scopes.history.handles import StoreHandle
from scopes.loading import deferred

if TYPE_CHECKING:
    from scopes.agents.agent import AgentType
    from scopes.agents.inbox import Inbox, read_inbox
    from scopes.agents.list import AgentList, AgentView, list_agents, show_agent
    from scopes.agents.register import AgentChanged, AgentChanges, register, set_availability, update
    from scopes.agents.register import remove as remove_from_registry
    from scopes.facts.propose import KeyAdded, add_key
else:
    read_inbox = deferred("scopes.agents.inbox:read_inbox")
    list_agents = deferred("scopes.agents.list:list_agents")
    show_agent = deferred("scopes.agents.list:show_agent")
    register = deferred("scopes.agents.register:register")
    remove_from_registry = deferred("scopes.agents.register:remove")
    set_availability = deferred("scopes.agents.register:set_availability")
    update = deferred("scopes.agents.register:update")
    add_key = deferred("scopes.facts.propose:add_key")


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

        Raises:
            Refused: the name is registered already.
            Invalid: a text is blank, too long, or cannot be used to address the agent.
        """
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
        return list_agents(self.repository, capability=capability, available=available)

    def agent(self, name: str) -> AgentView:
        """Return an agent, or a participant who is not registered.

        Raises:
            NotFound, Ambiguous: there is none, or there are several.
        """
        return show_agent(self.repository, name)

    def update_agent(self, name: str, changes: AgentChanges) -> AgentChanged:
        """Change the fields of an agent; its number stays.

        Raises:
            NotFound, Ambiguous: there is no such agent, or several.
            Refused: the new name belongs to another agent.
            Invalid: a text cannot be stored.
        """
        return update(self.repository, name, changes)

    def set_agent_available(self, name: str, *, available: bool) -> AgentChanged:
        """Make an agent available, which delivers what waits for it; or unavailable.

        Raises:
            NotFound, Ambiguous: there is no such agent, or several.
        """
        return set_availability(self.repository, name, available=available)

    def remove_agent(self, name: str) -> AgentChanged:
        """Remove an agent from the registry; its messages stay.

        Raises:
            NotFound, Ambiguous: there is no such agent, or several.
        """
        return remove_from_registry(self.repository, name)

    def inbox(self, agent: str, *, acknowledge: bool = False, everything: bool = False) -> Inbox:
        """Return the unread messages of an agent, in the order of sending.

        acknowledge: take them out of the inbox; of several processes that do so at once, each message goes to one.
        everything: also those that ask for something that has ended

        Raises:
            NotFound, Ambiguous: there is no such agent, or several.
        """
        return read_inbox(self.repository, agent, acknowledge=acknowledge, everything=everything)

    def add_fact_key(self, key: str) -> KeyAdded:
        """Add a context key for the facts of all conversations.

        Raises:
            Invalid: it is not a word.
        """
        return add_key(self.repository, key)
