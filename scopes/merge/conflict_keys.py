"""What two sides can disagree about: the subjects of `state/`, and the type of a disagreement on each.

A subject is the path of a claim without the agent: what two agents say of one aspect is one subject with two claims.
"""

from __future__ import annotations

from scopes.errors import Invalid
from scopes.ids import MessageId
from scopes.model.conflict import CONFLICT_TYPES
from scopes.model.path_encoding import decode_component

FILES, MESSAGES, PRIORITIES, CONFLICTS = "files", "messages", "priorities", "conflicts"
PROPOSALS = "proposals"
_TYPE_OF_GROUP = {row.group: name for name, row in CONFLICT_TYPES.items() if row.group is not None}


def key_of_path(path: str) -> str:
    """Return the key of the subject that a path below `state/` belongs to; accepted values go with their proposals."""
    names = path.removesuffix("=").split("/")
    if len(names) > 2 and per_agent(path):
        names.pop()
    if names[0] == "entities":
        names[0] = PROPOSALS
    return "/".join(names)


def path_prefixes(key: str) -> tuple[str, ...]:
    """Return where the paths of a subject begin; each is a claim itself, or a directory of claims."""
    group, _, rest = key.partition("/")
    return (key, f"entities/{rest}") if group == PROPOSALS else (key,)


def group_of(key: str) -> str:
    """Return the first component of a key."""
    return key.partition("/")[0]


def type_of(key: str, *, added: bool) -> str:
    """Return the type of a disagreement on a subject; `added` tells that neither side found anything there."""
    return _TYPE_OF_GROUP.get(group_of(key), "add-add" if added else "unknown")


def value_field(key: str) -> str | None:
    """Return the field of a claim that holds its value; None if the value is the whole claim."""
    return CONFLICT_TYPES[type_of(key, added=False)].value_field


def per_agent(key: str) -> bool:
    """Return True if each agent has a claim of its own on such a key."""
    return CONFLICT_TYPES[type_of(key, added=False)].per_agent


def message_key(message: MessageId | str) -> str:
    """Return the key of what is said about a message."""
    return f"{MESSAGES}/{message}"


def shown_key(key: str) -> str:
    """Write a key for people: decoded, `decisions/auth`; what cannot be decoded stays as it is."""
    return "/".join(map(_decoded, key.split("/")))


def _decoded(component: str) -> str:
    try:
        return decode_component(component)
    except Invalid:
        return component


def agent_of(path: str) -> str | None:
    """Return the agent whose claim a path is, where claims of that group go by agent."""
    names = path.removesuffix("=").split("/")
    return _decoded(names[-1]) if len(names) > 2 and per_agent(path) else None
