"""A registered agent and its JSON form."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from scopes.errors import Corrupt, Invalid
from scopes.ids import AgentName, parse_agent_name
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none
from scopes.result import HIDDEN, OMIT_EMPTY

AgentType: TypeAlias = Literal["human", "ai"]
AGENT_TYPES: tuple[AgentType, ...] = ("ai", "human")
MAX_ITEMS = 100
MAX_ITEM_CHARACTERS = 200
MAX_DESCRIPTION_CHARACTERS = 2_000
MAX_METADATA_CHARACTERS = 10_000
_FORMAT_VERSION = 1
EVERYBODY: Final = "all"  # as a receiver; so it cannot be a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A person or a program that is registered in a store (S4-29, S2-1).

    Attributes:
        number: From 1, in the order of registration; never used again.
        type: `human` or `ai`.
        capabilities: What it can do, as words to address it by: `@review`.
        dependencies: The context keys that it depends on (S2-4).
        metadata: Further facts by name, as texts.
        available: Whether messages are delivered to it now; otherwise they wait.
        registered: When, as RFC 3339.
        updated: When something about it was last changed; None if nothing was.
        card: The fields of an imported A2A agent card that scopes does not use, kept for the export.
        extra: Fields of later versions.
    """

    number: int
    name: AgentName
    type: AgentType = "ai"
    description: str = field(default="", metadata=OMIT_EMPTY)
    capabilities: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    available: bool = True
    registered: str
    updated: str | None = None
    card: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)
    extra: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)


def check_agent(agent: Agent) -> Agent:
    """Return the agent if its texts are valid.

    Raises:
        Invalid: a name, a capability, a dependency or the metadata is blank, too long, or cannot be addressed.
    """
    if not agent.name.strip():
        raise Invalid("an agent needs a name", hint="for example: scopes agents register reviewer")
    parse_agent_name(agent.name)
    if agent.name == EVERYBODY or agent.name.startswith("@") or agent.name.isdecimal():
        hint = "choose another name: numbers, `all` and `@capability` address agents"
        raise Invalid(f"{agent.name!a} cannot be the name of an agent", hint=hint)
    if not agent.name.isprintable():
        raise Invalid(f"{agent.name!a} cannot be the name of an agent", hint="a name has no control characters")
    if agent.type not in AGENT_TYPES:
        raise Invalid(f"{agent.type!a} is not a type of agent", hint=f"types: {', '.join(AGENT_TYPES)}")
    _check_items("capability", "capabilities", agent.capabilities)
    _check_items("dependency", "dependencies", agent.dependencies)
    _check_items("metadata name", "metadata names", agent.metadata)
    if len(agent.description) > MAX_DESCRIPTION_CHARACTERS:
        text = f"the description has {len(agent.description):,} characters, more than {MAX_DESCRIPTION_CHARACTERS:,}"
        raise Invalid(text, hint="give a shorter one: --description TEXT")
    if sum(map(len, agent.metadata.values())) > MAX_METADATA_CHARACTERS:
        text = f"the metadata has more than {MAX_METADATA_CHARACTERS:,} characters"
        raise Invalid(text, hint="give shorter values, or remove one: --meta NAME=")
    return agent


def _check_items(what: str, plural: str, items: Collection[str]) -> None:
    if len(items) > MAX_ITEMS:
        text = f"{len(items)} {plural} were given; an agent has at most {MAX_ITEMS}"
        raise Invalid(text, hint="leave out those that are not needed")
    for item in items:
        if not item or len(item) > MAX_ITEM_CHARACTERS or any(c.isspace() or not c.isprintable() for c in item):
            raise Invalid(
                f"{item[:MAX_ITEM_CHARACTERS]!a} cannot be a {what}",
                hint=f"one word of at most {MAX_ITEM_CHARACTERS} characters",
            )


def encode_agent(agent: Agent) -> bytes:
    """Encode an agent as indented JSON, readable with `git show`."""
    document = {
        "v": _FORMAT_VERSION,
        "number": agent.number,
        "name": agent.name,
        "type": agent.type,
        **without_none(description=agent.description or None),
        "capabilities": list(agent.capabilities),
        "dependencies": list(agent.dependencies),
        "metadata": dict(agent.metadata),
        "available": agent.available,
        "registered": agent.registered,
        **without_none(updated=agent.updated, card=dict(agent.card) or None),
        **agent.extra,
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def decode_agent(data: bytes) -> Agent:
    """Decode an agent; what is missing or of another type has its default.

    The registry may come from another person's store: settings and the environment of programs have names of agents.

    Raises:
        Corrupt: the data is not JSON, or has no number, time, or name that can be printed.
    """
    match canonical_json.load(data):
        case {"number": int(number), "name": str(name), "registered": str(registered), **rest} if (
            number > 0 and name and name.isprintable()
        ):
            rest.pop("v", None)
            kind, available = rest.pop("type", "ai"), rest.pop("available", True)
            description, metadata, card = (rest.pop(key, None) for key in ("description", "metadata", "card"))
            updated = rest.pop("updated", None)
            return Agent(
                number=number,
                name=AgentName(name),
                type="human" if kind == "human" else "ai",
                description=description if isinstance(description, str) else "",
                capabilities=_texts(rest.pop("capabilities", None)),
                dependencies=_texts(rest.pop("dependencies", None)),
                metadata={k: v for k, v in metadata.items() if isinstance(v, str)}
                if isinstance(metadata, dict)
                else {},
                available=available is not False,
                registered=registered,
                updated=updated if isinstance(updated, str) else None,
                card=card if isinstance(card, dict) else {},
                extra={str(key): value for key, value in rest.items()},
            )
    raise Corrupt("a registered agent is damaged", hint="see: scopes verify")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
