"""`agents register` and `remove`: change who is registered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

from scopes.agents.agent import Agent, AgentType, check_agent
from scopes.agents.authors import check_typed_author
from scopes.agents.inbox import deliver, remove_entries
from scopes.agents.registry import Registry, agent_changes, store_registry
from scopes.clock import now
from scopes.errors import Refused
from scopes.ids import AgentName, OperationId
from scopes.model.message import Author
from scopes.result import INLINE, Note, Result, plural
from scopes.store.objects import BlobChange
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_SETTINGS = ("delivery", "command", "timeout")  # scopes.agent.<name>.*


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged(Result):
    """An agent after a change, which is `registered`, `updated`, `removed`, `available`, `away` or `unchanged`."""

    kind = "agent"

    agent: Agent = field(metadata=INLINE)
    change: str
    operation: OperationId | None = None

    @property
    def sentence(self) -> str:
        """What was changed."""
        agent, change = self.agent, self.change
        if change in {"registered", "updated", "removed"}:
            return f"{change} agent {agent.name}, number {agent.number}"
        return f"agent {agent.name} is {change}"  # available, away or unchanged

    @property
    def answer(self) -> str:
        """The number of the agent."""
        return str(self.agent.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanges:
    """What to change about an agent; None keeps it. `add_` and `remove_` change single items of the lists.

    available: what was sent to an agent that was away goes into its inbox then; to one that is away it waits (S4-33).
    """

    name: str | None = None
    type: AgentType | None = None
    description: str | None = None
    add_capabilities: Sequence[str] = ()
    remove_capabilities: Sequence[str] = ()
    add_dependencies: Sequence[str] = ()
    remove_dependencies: Sequence[str] = ()
    available: bool | None = None


def register(
    repository: Repository,
    name: str,
    *,
    agent_type: AgentType = "ai",
    description: str = "",
    capabilities: Sequence[str] = (),
    dependencies: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
    available: bool = True,
    card: Mapping[str, Any] | None = None,
) -> AgentChanged:
    """Register a person or a program; it gets the next number, which no other agent ever had (S2-1).

    Raises:
        Refused: the name is registered already.
        Invalid: a text is blank, too long, or cannot be used to address the agent; the name cannot be an author.
    """
    agent = check_agent(
        Agent(
            number=1,
            name=AgentName(name),
            type=agent_type,
            description=description.strip(),
            capabilities=_unique(capabilities),
            dependencies=_unique(dependencies),
            metadata=dict(metadata or {}),
            available=available,
            registered=now(),
            card=dict(card or {}),
        )
    )
    check_typed_author(Author(agent.name))
    with exclusive_write(repository):
        registry = Registry(repository)
        _require_free(registry, agent.name)
        notes = _note_other_case(registry, agent.name)
        agent = replace(agent, number=registry.next_number())
        summary = f"register agent {agent.number}: {agent.name}"
        operation = store_registry(registry, agent_changes({agent.number: agent}), summary, registered=agent.number)
    return AgentChanged(agent=agent, change="registered", operation=operation, notes=notes)


def update(repository: Repository, name: str, changes: AgentChanges) -> AgentChanged:
    """Change the fields of an agent, named by its whole name or its number, which stays.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
        Refused: the new name belongs to another agent.
        Invalid: a text cannot be stored.
    """
    with exclusive_write(repository):
        registry = Registry(repository)
        before = registry.find(name, whole=True)
        after = check_agent(_apply(before, changes))
        if after.name != before.name:
            check_typed_author(Author(after.name))
            _require_free(registry, after.name)
        missing = [
            *_missing("capability", changes.remove_capabilities, before.capabilities),
            *_missing("dependency", changes.remove_dependencies, before.dependencies),
        ]
        word = "available" if after.available else "away"
        is_only_word = changes == AgentChanges(available=after.available)
        waiting = deliver(registry, before) if changes.available else {}
        verb = f"set {word}:" if is_only_word else "update"
        done = _store(registry, before, after, word if is_only_word else "updated", verb, waiting)
        notes = (
            *missing,
            *done.notes,
            *_note_settings(registry, before, after),
            *_note_delivered(before, len(waiting)),
        )
        return replace(done, notes=notes)


def remove(repository: Repository, name: str) -> AgentChanged:
    """Remove an agent from the registry; its messages stay, and its number is not used again.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    with exclusive_write(repository):
        registry = Registry(repository)
        agent = registry.find(name, whole=True)
        unread = remove_entries(registry, agent)
        changes = {**agent_changes({agent.number: None}), **unread}
        operation = store_registry(registry, changes, f"remove agent {agent.number}: {agent.name}")
    notes = (Note(f"{len(unread)} unread {plural(len(unread), 'message')} went with it"),) if unread else ()
    return AgentChanged(agent=agent, change="removed", operation=operation, notes=notes)


def _note_delivered(agent: Agent, count: int) -> Iterator[Note]:
    """Yield a note if messages waited for an agent that was away."""
    if count:
        text = f"{count} waiting {plural(count, 'message')} delivered"
        yield Note(text, f"read them: scopes inbox {quote(agent.name)}")


def _store(  # noqa: PLR0917 - what is changed, and how that is called
    registry: Registry,
    before: Agent,
    after: Agent,
    change: str,
    verb: str,
    more: Mapping[str, BlobChange],
) -> AgentChanged:
    """Store a changed agent, and `more` changes of files."""
    if after == before and not more:
        note = Note(f"agent {before.name} is unchanged")
        return AgentChanged(agent=before, change="unchanged", notes=(note,))
    after = replace(after, updated=now())
    changes = {**agent_changes({after.number: after}), **more}
    operation = store_registry(registry, changes, f"{verb} agent {after.number}: {after.name}")
    return AgentChanged(agent=after, change=change, operation=operation)


def _apply(agent: Agent, changes: AgentChanges) -> Agent:
    return replace(
        agent,
        name=agent.name if changes.name is None else AgentName(changes.name),
        type=changes.type or agent.type,
        description=agent.description if changes.description is None else changes.description.strip(),
        capabilities=_changed(agent.capabilities, changes.add_capabilities, changes.remove_capabilities),
        dependencies=_changed(agent.dependencies, changes.add_dependencies, changes.remove_dependencies),
        available=agent.available if changes.available is None else changes.available,
    )


def _changed(items: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> tuple[str, ...]:
    return _unique(item for item in (*items, *added) if item not in set(removed))


def _missing(what: str, removed: Sequence[str], items: Sequence[str]) -> list[Note]:
    return [Note(f"the agent has no {what} {item!a}") for item in removed if item not in items]


def _require_free(registry: Registry, name: str) -> None:
    other = registry.find_named(name)
    if other is not None:
        hint = f"change it: scopes agents register {other.number} ..., or choose another name"
        raise Refused(f"agent {name!a} is registered already, as number {other.number}", hint=hint)


def _note_other_case(registry: Registry, name: str) -> tuple[Note, ...]:
    """Return a note if a registered name differs from this one in its case alone."""
    other = next((each for each in registry.agents if each.name.casefold() == name.casefold()), None)
    if other is None:
        return ()
    hint = f"if they are one: scopes agents remove {quote(name)}"
    return (Note(f"there is also the agent {other.name!a}, number {other.number}: case matters in names", hint),)


def _note_settings(registry: Registry, before: Agent, after: Agent) -> Iterator[Note]:
    """Yield a note for each of the user's settings that names an agent by its name from before."""
    for setting in _SETTINGS if after.name != before.name else ():
        key = f"scopes.agent.{before.name}.{setting}"
        value = registry.repository.config.find(key)
        if value is not None:
            command = f"scopes config {quote(f'scopes.agent.{after.name}.{setting}')} {quote(value)}"
            yield Note(f"the setting {key} is not used for {after.name}", f"set it again: {command}")


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
