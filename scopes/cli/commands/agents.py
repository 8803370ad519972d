"""`scopes agents`, `send` and `inbox`: who works here, and what they write to each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, TypeAlias

from scopes.agents.card import MAX_CARD_BYTES, export_card, import_card
from scopes.agents.delivery import SentMessage, deliver_to_programs, deliver_unread
from scopes.agents.inbox import read_inbox, watch_inbox
from scopes.agents.list import list_agents, show_agent
from scopes.agents.register import AgentChanged, AgentChanges, register, remove, update
from scopes.agents.registry import Registry
from scopes.agents.send import send as send_message
from scopes.cli.input import STANDARD_INPUT, has_piped_input, open_input
from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    Data,
    Queue,
    Text,
    TextOption,
    Texts,
    To,
    argument,
    author_of,
    option,
    read_fields,
    refuse_dry_run,
)
from scopes.cli.words import is_whole_conversation
from scopes.errors import Invalid, NotFound
from scopes.facts.fact import KEYS
from scopes.history.handles import StoreHandle
from scopes.history.names import complete_message_id, find_nearest
from scopes.result import Note

AgentArgument: TypeAlias = Annotated[
    str, argument("AGENT", "The agent: its name, a unique prefix of it, or its number")
]
ChangedAgent: TypeAlias = Annotated[str, argument("AGENT", "The agent: its whole name, or its number")]


def agents_register(
    invocation: Invocation,
    name: Annotated[str, argument("NAME", "The name, as in the messages that it writes")],
    agent_type: Annotated[Literal["ai", "human"] | None, option("--type TYPE", "ai (default) or human")] = None,
    description: Annotated[Text, option("--description TEXT", "What it is for")] = None,
    capabilities: Annotated[
        Texts, option("--capability WORD", "Add what it can do, such as review; -WORD removes")
    ] = None,
    dependencies: Annotated[Texts, option("--depends-on KEY", "Add a context key it depends on; -KEY removes")] = None,
    rename: Annotated[Text, option("--rename NEW", "A new name; its number stays")] = None,
    away: Annotated[bool, option("--away", "Not available: what is sent waits")] = False,
    available: Annotated[bool, option("--available", "Available again: what waits is delivered")] = False,
    card: Annotated[Text, option("--card FILE", "Take it from an A2A agent card")] = None,
    existing: Annotated[bool, option("--existing", "Refuse a name that is not there", hidden=True)] = False,
) -> int:
    """Register an agent or person, or change one.

    It gets a number, which is never used again. Only registered agents receive messages.

    Examples:
      scopes agents register ann --type human
      scopes agents register bot --capability review --capability -security
      scopes agents register bot --away
      scopes agents register bot --card card.json
    """
    if away and available:
        raise Invalid("--away cannot be combined with --available", hint="leave out one of them")
    changes = AgentChanges(
        name=rename,
        type=agent_type,
        description=description,
        add_capabilities=_added(capabilities),
        remove_capabilities=_removed(capabilities),
        add_dependencies=_added(dependencies),
        remove_dependencies=_removed(dependencies),
        available=True if available else False if away else None,
    )
    if card is not None and changes != AgentChanges():
        raise Invalid("--card cannot be combined with other options", hint="leave them out, and change it then")
    if card is not None:
        with open_input(invocation, card) as stream:
            data = stream.read(MAX_CARD_BYTES + 1)
        return invocation.show(import_card(invocation.repository(create=True), data, name=name))
    repository = invocation.repository(create=not existing)
    if existing or name.isdecimal() or Registry(repository).find_named(name) is not None:
        result = update(repository, name, changes)
    else:
        if rename is not None:
            raise NotFound(f"there is no agent {name!a} to rename", hint="list them: scopes agents")
        result = register(
            repository,
            name,
            agent_type=agent_type or "ai",
            description=description or "",
            capabilities=changes.add_capabilities,
            dependencies=changes.add_dependencies,
            available=not away,
        )
    return invocation.show(_with_misspelled_keys(result, changes.add_dependencies))


def agents_list(
    invocation: Invocation,
    capability: Annotated[Text, option("--capability WORD", "Only those that can do this")] = None,
    available: Annotated[bool, option("--available", "Only those that are available")] = False,
) -> int:
    """List agents and other participants.

    First those who are registered, by number, then other participants of conversations.

    Examples:
      scopes agents
      scopes agents list --capability review
    """
    repository = invocation.repository()
    return invocation.show(list_agents(repository, capability=capability, available=True if available else None))


def agents_show(
    invocation: Invocation,
    agent: AgentArgument,
    card: Annotated[bool, option("--card", "Print its A2A agent card")] = False,
) -> int:
    """Show an agent.

    In a card the capabilities are its skills, and possible secrets are replaced: cards are published.

    Examples:
      scopes agents show bot
      scopes agents show 3 --card
    """
    repository = invocation.repository()
    return invocation.show(export_card(repository, agent) if card else show_agent(repository, agent))


def agents_remove(invocation: Invocation, agent: ChangedAgent) -> int:
    """Remove an agent from the registry.

    Its messages stay, and its number is not used again.

    Examples:
      scopes agents remove bot
      scopes agents remove 3
    """
    return invocation.show(remove(invocation.repository(), agent))


def send(
    invocation: Invocation,
    first: Annotated[Text, argument("[WHERE]", "The conversation or branch (default: @)")] = None,
    second: Annotated[Text, argument("TEXT", "The text; - reads standard input")] = None,
    text: TextOption = None,
    to: To = None,
    queue: Queue = False,
    data: Data = None,
    kind: Annotated[str, option("--kind KIND", "proposal, analysis, collaboration-request, ...")] = "plain",
    reply_to: Annotated[Text, option("--reply-to MESSAGE", "The message that it answers")] = None,
) -> int:
    """Add a message and put it into inboxes.

    Both happen or nothing does. Agents that are away get it when they are available again; if nobody is available,
    nothing is sent unless --queue is given. Without --to, proposals go to agents with the capability review,
    collaboration requests to those that they name, analyses to the participants of the conversation.

    Examples:
      scopes send @ --to @review 'Please look at try'
      scopes send conv-001 --to all --queue 'Freeze at six'
    """
    from scopes.cli.append_input import compose_message, read_text

    repository = invocation.repository()
    if second is None and text is None and data is None and not is_whole_conversation(repository, first):
        first, second = LATEST, first
    if text is not None and second is not None:
        raise Invalid("the text is given twice", hint="leave out TEXT or -m")
    given = second if text is None else text
    if given is None and data is None and has_piped_input(invocation):
        given = STANDARD_INPUT
    content = None if given is None else read_text(invocation, given)
    if content is None and data is None:
        raise Invalid("no message given", hint="for example: scopes send @ --to all 'hello', or - for standard input")
    if content is not None and not content.strip():
        raise Invalid("the message is empty", hint="for example: scopes send @ --to all 'hello'")
    target = StoreHandle(repository).branch(first or LATEST)
    document = None if data is None else json.dumps(read_fields(invocation, data))
    answered = complete_message_id(repository, target.conversation.id, reply_to)
    message = compose_message(author_of(invocation), content, kind, data=document, reply_to=answered, takes_topic=False)
    done = send_message(target, message, to or (), queue=queue)
    failures = deliver_to_programs(repository, done.delivered_to, SentMessage(done.message, [done.operation]))
    return invocation.show(replace(done, notes=(*done.notes, *failures)))


def inbox(
    invocation: Invocation,
    agent: AgentArgument,
    acknowledge: Annotated[bool, option("--ack", "Take them out; nobody else gets them")] = False,
    watch: Annotated[Text, option("--watch [=SECONDS]", "Stay until none came for so long")] = None,
    deliver: Annotated[bool, option("--deliver", "Give each to the program of the agent")] = False,
) -> int:
    """List the unread messages of an agent.

    They are in the order of sending. The program of --deliver is the setting scopes.agent.NAME.delivery: it reads a
    message as JSON on standard input, and exit code 0 takes it out of the inbox.

    Examples:
      scopes inbox bot
      scopes inbox bot --ack --json
      scopes inbox bot --watch=60
    """
    if deliver and (watch is not None or acknowledge):
        raise Invalid("--deliver cannot be combined with --watch or --ack", hint="it takes out what it delivers")
    if watch and not watch.isdecimal():
        raise Invalid(f"--watch={watch} is no number of seconds", hint="for example: --watch=60")
    repository = invocation.repository()
    if deliver:
        refuse_dry_run(invocation, "inbox --deliver")
        return invocation.show(deliver_unread(repository, agent))
    if watch is not None:
        idle = int(watch) if watch else None
        return invocation.stream(watch_inbox(repository, agent, acknowledge=acknowledge, idle_seconds=idle))
    return invocation.show(read_inbox(repository, agent, acknowledge=acknowledge))


def _added(words: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(word for word in words or () if not word.startswith("-"))


def _removed(words: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(word[1:] for word in words or () if word.startswith("-"))


def _with_misspelled_keys(result: AgentChanged, keys: Sequence[str]) -> AgentChanged:
    """Return a result with a note for each dependency that is near a context key which every conversation has."""
    near = {key: find_nearest(key, list(KEYS)) for key in keys if key not in KEYS}
    notes = (
        Note(f"no conversation has the context key {key} by itself", f"did you mean {' or '.join(names)}?")
        for key, names in near.items()
        if names
    )
    return replace(result, notes=(*result.notes, *notes))
