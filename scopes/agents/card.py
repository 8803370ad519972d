"""Agent cards of the A2A protocol (version 1.0): export of a registered agent, import of a card.

A card has `name`, `description`, `version`, `skills` ({id, name, description, tags, examples}) and `capabilities`
(streaming, ...). In scopes the ids and tags of the skills are the capabilities of the agent. Fields that scopes does
not use are kept and exported again. Source: specification/a2a.proto of the A2A project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from scopes.agents.agent import AGENT_TYPES, MAX_DESCRIPTION_CHARACTERS, MAX_ITEM_CHARACTERS, MAX_ITEMS, Agent
from scopes.agents.register import AgentChanged, register
from scopes.agents.registry import Registry
from scopes.errors import Corrupt, Invalid
from scopes.model import canonical_json
from scopes.result import Note, Result
from scopes.sanitize import indented_json
from scopes.secrets.gates import gate_of, redacted_notes
from scopes.store.repository import Repository

MAX_CARD_BYTES = 1_000_000
MAX_CARD_DEPTH = 30  # it is stored indented: every level costs two bytes in each of its lines
_FIELDS_OF_AGENT = frozenset({"name", "description"})  # an agent stores them itself, not in its card
_EXTENSION = "scopes"  # the field of a card for what A2A has no field for
_CARD_VERSION = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCard(Result):
    """The agent card of a registered agent, as a JSON object."""

    card: Mapping[str, Any]

    @property
    def answer(self) -> str:
        """The card as indented JSON."""
        return indented_json(dict(self.card))


def export_card(repository: Repository, name: str) -> AgentCard:
    """Return the agent card of an agent; an imported one with the present name, description and capabilities.

    Cards are published, so possible secrets are replaced.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    agent = Registry(repository).find(name)
    card = dict(agent.card)
    skills = [skill for skill in _skills(card) if _names_of(skill) & set(agent.capabilities)]
    known = {name for skill in skills for name in _names_of(skill)}
    skills += [_skill(name) for name in agent.capabilities if name not in known]
    own = {
        "number": agent.number,
        "type": agent.type,
        "dependencies": list(agent.dependencies),
        "metadata": dict(agent.metadata),
    }
    document = {
        "version": _CARD_VERSION,
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        **card,
        "name": agent.name,
        "description": agent.description or agent.name,
        "skills": skills,
        _EXTENSION: own,
    }
    gate = gate_of(repository, "redact")
    cleared = gate.clear_document(document, "the card")
    return AgentCard(card=cleared, notes=redacted_notes(gate.redacted))


def import_card(repository: Repository, data: bytes, *, name: str | None = None) -> AgentChanged:
    """Register the agent of a card, under another name if one is given.

    Raises:
        Corrupt: it is not an agent card.
        Invalid: it is too large or nested too deeply, or as `register`.
        Refused: as `register`.
    """
    if len(data) > MAX_CARD_BYTES:
        raise Invalid(f"an agent card has at most {MAX_CARD_BYTES:,} bytes", hint="is this the right file?")
    card: Any = None
    with suppress(Corrupt):
        card = canonical_json.load(data)
    if not isinstance(card, dict):
        raise Corrupt("this is not an agent card", hint="a card is a JSON object with name, description, skills, ...")
    if _is_deeper(card, MAX_CARD_DEPTH):
        raise Invalid(f"an agent card has at most {MAX_CARD_DEPTH} levels", hint="is this the right file?")
    own_name = card.get("name")
    if name is None and not isinstance(own_name, str):
        raise Corrupt("this is not an agent card: it has no name", hint="give the agent one")
    description = card.get("description")
    own = card.get(_EXTENSION)
    kept = {key: value for key, value in card.items() if key not in {*_FIELDS_OF_AGENT, _EXTENSION}}
    done = register(
        repository,
        str(own_name) if name is None else name,
        agent_type="human" if isinstance(own, dict) and own.get("type") == "human" else "ai",
        description=description[:MAX_DESCRIPTION_CHARACTERS] if isinstance(description, str) else "",
        capabilities=list(_walk_capabilities(card))[:MAX_ITEMS],
        dependencies=_dependencies(own),
        metadata=_metadata(own),
        card=kept,
    )
    return replace(done, notes=(*done.notes, *_note_ignored(card, done.agent)))


def _is_deeper(value: Mapping[str, Any], levels: int) -> bool:
    """Return True if a JSON value has more levels of objects and lists than a number."""
    found: list[Any] = [value]
    for _ in range(levels):
        items = [item for each in found for item in (each.values() if isinstance(each, dict) else each)]
        found = [item for item in items if isinstance(item, dict | list)]
    return bool(found)


def _note_ignored(card: Mapping[str, Any], agent: Agent) -> Iterator[Note]:
    """Yield notes for what a card has in a form that says nothing about the agent."""
    if not isinstance(card.get("skills", []), list):
        hint = f"give it some: scopes agents register {quote(agent.name)} --capability WORD"
        yield Note("the skills of the card are not a list: the agent has no capabilities", hint)
    own = card.get(_EXTENSION)
    kind = own.get("type", "ai") if isinstance(own, dict) else "ai"
    if kind not in AGENT_TYPES:
        hint = f"change it: scopes agents register {quote(agent.name)} --type human"
        yield Note(f"the card has the type {str(kind)[:80]!a}, which is none: the agent is registered as ai", hint)


def _metadata(own: object) -> Mapping[str, str]:
    found = own.get("metadata") if isinstance(own, dict) else None
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def _dependencies(own: object) -> Sequence[str]:
    found = own.get("dependencies") if isinstance(own, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else ()


def _walk_capabilities(card: Mapping[str, Any]) -> Iterator[str]:
    for skill in _skills(card):
        for name in (skill.get("id"), *_tags(skill)):
            word = "-".join(name.split())[:MAX_ITEM_CHARACTERS] if isinstance(name, str) else ""
            if word and word.isprintable():
                yield word


def _skills(card: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    skills = card.get("skills")
    return [skill for skill in skills if isinstance(skill, dict)] if isinstance(skills, list) else []


def _tags(skill: Mapping[str, Any]) -> list[Any]:
    tags = skill.get("tags")
    return tags if isinstance(tags, list) else []


def _names_of(skill: Mapping[str, Any]) -> set[str]:
    return {"-".join(name.split()) for name in (skill.get("id"), *_tags(skill)) if isinstance(name, str)}


def _skill(name: str) -> dict[str, Any]:
    return {"id": name, "name": name, "description": name, "tags": [name]}
