"""What the registry says about the author of a message: a person or a program, and whether the name is misspelled."""

from __future__ import annotations

from shlex import quote

from scopes.agents.registry import Registry
from scopes.errors import Invalid
from scopes.history.messages import check_author
from scopes.history.names import find_nearest
from scopes.model.message import Author
from scopes.result import Note
from scopes.store.objects import header_safe
from scopes.store.repository import Repository

_SETTING = "scopes.agent."


def with_registered_kind(repository: Repository, author: Author) -> Author:
    """Return an author with the kind of the registered agent of that name; others are returned unchanged."""
    agent = Registry(repository).find_named(author.name)
    return author if agent is None else author._replace(kind="human" if agent.type == "human" else "agent")


def note_misspelled(repository: Repository, name: str) -> tuple[Note, ...]:
    """Return a note about a name that is not registered, if it is near one that is."""
    names: list[str] = [agent.name for agent in Registry(repository).agents]
    near = [] if name in names else find_nearest(name, names)
    return (Note(f"{name} is not registered; did you mean {' or '.join(near)}?"),) if near else ()


def note_unknown_agent(repository: Repository, key: str) -> tuple[Note, ...]:
    """Return a note if a setting such as `scopes.agent.<name>.delivery` names an agent that is not registered."""
    name, dot, _ = key[len(_SETTING) :].rpartition(".")
    if not key.lower().startswith(_SETTING) or not dot:
        return ()
    names: list[str] = [agent.name for agent in Registry(repository).agents]
    if name in names:
        return ()
    near = find_nearest(name, names)
    hint = f"did you mean {' or '.join(near)}?" if near else f"register it: scopes agents register {quote(name)}"
    return (Note(f"no agent {name} is registered: the setting is not used until there is one", hint),)


def check_typed_author(author: Author) -> Author:
    """Check an author whose name was typed: a commit must be able to store it as it is, but for a final full stop.

    Raises:
        Invalid: as `check_author`, or git would drop characters of the name.
    """
    checked = check_author(author)
    stored = header_safe(author.name)
    if stored != author.name.removesuffix("."):
        raise Invalid(
            f"{author.name!a} is not a valid author name", hint=f"a commit would store it as {stored!a}: use that"
        )
    return checked
