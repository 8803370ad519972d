"""`scopes agents register`, `list`, `show`, `update`, `remove`, `available`, `away`, `export` and `import`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, TypeAlias

import typer

from scopes.agents.card import MAX_CARD_BYTES, export_card, import_card
from scopes.agents.list import list_agents, show_agent
from scopes.agents.register import AgentChanges, register, remove, set_availability, update
from scopes.cli.input import open_input
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.facts.fact import KEYS
from scopes.history.names import find_nearest
from scopes.result import Note

AgentArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="AGENT|NUMBER", help="The agent: its name, a unique prefix of it, or its number")
]
ChangedAgent: TypeAlias = Annotated[
    str, typer.Argument(metavar="AGENT|NUMBER", help="The agent: its whole name, or its number")
]
OfType: TypeAlias = Annotated[
    Literal["ai", "human"] | None, typer.Option("--type", metavar="TYPE", help="ai (default) or human")
]
Description: TypeAlias = Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What it is for")]
Capabilities: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--capability", metavar="WORD", help="What it can do, such as review"),
]
Dependencies: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--depends-on", metavar="KEY", help="A context key that it depends on"),
]
Metadata: TypeAlias = Annotated[list[str] | None, typer.Option("--meta", metavar="NAME=TEXT", help="Further metadata")]


def agents_register(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name, as in the messages that it writes")],
    agent_type: OfType = None,
    description: Description = None,
    capabilities: Capabilities = None,
    dependencies: Dependencies = None,
    metadata: Metadata = None,
    away: Annotated[bool, typer.Option("--away", help="Not available yet: what is sent to it waits")] = False,
) -> int:
    """Register a person or a program.

    It gets a number, which is never used again. Only registered agents receive messages. Participants of conversations
    are listed without being registered.

    Examples:
      scopes agents register reviewer --capability review --capability security
      scopes agents register carol --type human --description "decides about the schema"
      scopes agents register planner --depends-on requirements --meta model=gpt-5 --away
    """
    invocation: Invocation = context.obj
    given = {key: value for key, value in _read_metadata(metadata).items() if value is not None}
    result = register(
        invocation.repository(create=True),
        name,
        agent_type=agent_type or "ai",
        description=description or "",
        capabilities=capabilities or (),
        dependencies=dependencies or (),
        metadata=given,
        available=not away,
    )
    return invocation.show(replace(result, notes=(*result.notes, *_note_misspelled_keys(dependencies or ()))))


def agents_list(
    context: typer.Context,
    capability: Annotated[
        str | None, typer.Option("--capability", metavar="WORD", help="Only registered agents that can do this")
    ] = None,
    available: Annotated[
        bool | None, typer.Option("--available/--away", help="Only registered agents that are available, or away")
    ] = None,
    registered: Annotated[bool, typer.Option("--registered", help="Leave out participants without a number")] = False,
) -> int:
    """List agents and other participants.

    First those who are registered, by number.

    Examples:
      scopes agents list
      scopes agents list --capability review --available
      scopes agents list --registered --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    return invocation.show(
        list_agents(repository, capability=capability, available=available, registered_only=registered)
    )


def agents_show(context: typer.Context, agent: AgentArgument) -> int:
    """Show an agent.

    It may also be a participant of conversations who is not registered.

    Examples:
      scopes agents show reviewer
      scopes agents show 3 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_agent(invocation.repository(), agent))


def agents_update(
    context: typer.Context,
    agent: ChangedAgent,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="A new name")] = None,
    agent_type: OfType = None,
    description: Description = None,
    capabilities: Capabilities = None,
    dependencies: Dependencies = None,
    metadata: Metadata = None,
    not_capabilities: Annotated[
        list[str] | None, typer.Option("--remove-capability", metavar="WORD", help="What it can no longer do")
    ] = None,
    not_dependencies: Annotated[
        list[str] | None, typer.Option("--remove-dependency", metavar="KEY", help="A key that it no longer depends on")
    ] = None,
) -> int:
    """Change what is known about an agent.

    Its number stays. --capability and --depends-on add to what is there. --meta NAME= removes that metadata.

    Examples:
      scopes agents update reviewer --capability go --remove-capability security
      scopes agents update 3 --name critic --meta model=
    """
    invocation: Invocation = context.obj
    changes = AgentChanges(
        name=name,
        type=agent_type,
        description=description,
        add_capabilities=capabilities or (),
        remove_capabilities=not_capabilities or (),
        add_dependencies=dependencies or (),
        remove_dependencies=not_dependencies or (),
        metadata=_read_metadata(metadata),
    )
    if changes == AgentChanges(metadata={}):
        raise Invalid("nothing to change was given", hint="see: scopes help agents update")
    return invocation.show(update(invocation.repository(), agent, changes))


def agents_remove(context: typer.Context, agent: ChangedAgent) -> int:
    """Remove an agent from the registry.

    Its messages stay, and its number is not used again.

    Examples:
      scopes agents remove reviewer
    """
    invocation: Invocation = context.obj
    return invocation.show(remove(invocation.repository(), agent))


def agents_available(context: typer.Context, agent: ChangedAgent) -> int:
    """Make an agent available.

    What was sent to it while it was away goes into its inbox, in the order of sending.

    Examples:
      scopes agents available reviewer
    """
    invocation: Invocation = context.obj
    return invocation.show(set_availability(invocation.repository(), agent, available=True))


def agents_away(context: typer.Context, agent: ChangedAgent) -> int:
    """Make an agent unavailable.

    What is sent to it waits until scopes agents available.

    Examples:
      scopes agents away reviewer
    """
    invocation: Invocation = context.obj
    return invocation.show(set_availability(invocation.repository(), agent, available=False))


def agents_export(context: typer.Context, agent: AgentArgument) -> int:
    """Print the A2A agent card of an agent.

    The capabilities are the skills of the card. What only scopes has is below the key `scopes`. Possible secrets are
    replaced: cards are published.

    Examples:
      scopes agents export reviewer > reviewer.json
    """
    invocation: Invocation = context.obj
    return invocation.show(export_card(invocation.repository(), agent))


def agents_import(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="An A2A agent card as JSON; - reads standard input")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Another name than that in the card")
    ] = None,
) -> int:
    """Register the agent of an A2A agent card.

    The ids and tags of its skills become capabilities. Fields that scopes does not use are kept for the export.

    Examples:
      scopes agents import reviewer.json
      scopes agents import - --name critic < card.json
    """
    invocation: Invocation = context.obj
    with open_input(invocation, file) as stream:
        data = stream.read(MAX_CARD_BYTES + 1)
    return invocation.show(import_card(invocation.repository(create=True), data, name=name))


def _note_misspelled_keys(keys: Sequence[str]) -> tuple[Note, ...]:
    """Return a note for each dependency that is near a context key which every conversation has."""
    near = {key: find_nearest(key, list(KEYS)) for key in keys if key not in KEYS}
    return tuple(
        Note(f"no conversation has the context key {key} by itself", f"did you mean {' or '.join(names)}?")
        for key, names in near.items()
        if names
    )


def _read_metadata(given: list[str] | None) -> dict[str, str | None]:
    """Return the metadata of --meta by name; None for one that is to be removed.

    Raises:
        Invalid: one has no `=` or no name.
    """
    found: dict[str, str | None] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Invalid(f"--meta {text!a} is not NAME=TEXT", hint="for example: --meta model=gpt-5")
        found[name] = value or None
    return found
