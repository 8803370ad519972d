"""What the registry says about the author of a message: a person or a program, and whether the name is misspelled."""

from __future__ import annotations

from scopes.agents.registry import Registry
from scopes.history.name_syntax import find_nearest
from scopes.model.message import Author
from scopes.result import Note
from scopes.store.repository import Repository


def with_registered_kind(repository: Repository, author: Author) -> Author:
    """Return an author with the kind of the registered agent of that name; others are returned unchanged."""
    agent = Registry(repository).find_named(author.name)
    return author if agent is None else author._replace(kind="human" if agent.type == "human" else "agent")


def note_misspelled(repository: Repository, name: str) -> tuple[Note, ...]:
    """Return a note about a name that is not registered, if it is near one that is."""
    names: list[str] = [agent.name for agent in Registry(repository).agents]
    near = [] if name in names else find_nearest(name, names)
    return (Note(f"{name} is not registered; did you mean {' or '.join(near)}?"),) if near else ()
