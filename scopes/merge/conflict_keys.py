"""Keys: what two sides can disagree about, and the type of a conflict on each.

A key is the path of a claim below `state/`, without the agent: claims of two agents about one thing have the same key.
"""

from __future__ import annotations

from scopes.errors import Invalid
from scopes.ids import MessageId
from scopes.model.claims import ANALYSES, DECISIONS, ENTITIES, FILES, MESSAGES, METHODS, PRIORITIES, PROPOSALS, folded
from scopes.model.conflicts import CONFLICT_TYPES
from scopes.model.path_encoding import decode_component, encode_component, file_leaf

_TYPE_OF_GROUP = {row.group: name for name, row in CONFLICT_TYPES.items() if row.group is not None}
_UNKNOWN = "unknown"
_VALUE_FIELDS = {row.group: row.value_field for row in CONFLICT_TYPES.values() if row.group is not None}
_FIELD_OF_UNKNOWN = CONFLICT_TYPES[_UNKNOWN].value_field
_PER_AGENT = frozenset(row.group for row in CONFLICT_TYPES.values() if row.group is not None and row.per_agent)
_GROUPS_WITH_OTHER_KEYS = _PER_AGENT | {ENTITIES}  # where a key is not the path
_NOUN_OF_GROUP = {
    ANALYSES: "analysis", DECISIONS: "decision", FILES: "file", MESSAGES: "message", METHODS: "method",
    PRIORITIES: "priority", PROPOSALS: "proposal",
}  # fmt: skip


def key_of_path(path: str) -> str:
    """Return the key of a path below `state/`; an accepted value has the key of its proposal."""
    key = path.removesuffix("=")
    group = key.partition("/")[0]  # not `group_of`: a long branch changes thousands of files
    if group not in _GROUPS_WITH_OTHER_KEYS:
        return key
    names = key.split("/")
    if len(names) > 2 and group in _PER_AGENT:
        names.pop()
    if group == ENTITIES:
        names[0] = PROPOSALS
    return "/".join(names)


def path_prefixes(key: str) -> tuple[str, ...]:
    """Return the paths, without the `=` of a leaf, at and below which the claims of a key are."""
    group, _, rest = key.partition("/")
    return (key, f"{ENTITIES}/{rest}") if group == PROPOSALS else (key,)


def group_of(key: str) -> str:
    """Return the first component of a key."""
    return key.partition("/")[0]


def noun_of(group: str) -> str | None:
    """Return the noun for one claim of a group; None if it has none."""
    return _NOUN_OF_GROUP.get(group)


def type_of(key: str, *, added: bool) -> str:
    """Return the type of a conflict on a key; `added` is true if the base has no value."""
    return _TYPE_OF_GROUP.get(group_of(key), "add-add" if added else _UNKNOWN)


def value_field(key: str) -> str | None:
    """Return the field of a claim that holds its value; None if the value is the whole claim."""
    return _VALUE_FIELDS.get(group_of(key), _FIELD_OF_UNKNOWN)


def per_agent(key: str) -> bool:
    """Return True if each agent has a claim of its own on such a key."""
    return group_of(key) in _PER_AGENT


def can_have_value(key: str) -> bool:
    """Return True if a conflict about a key can be resolved with a new value, not only by taking a side."""
    return value_field(key) is not None or group_of(key) in {MESSAGES, PROPOSALS}


def message_key(message: MessageId | str) -> str:
    """Return the key of the claims about a message."""
    return f"{MESSAGES}/{message}"


def folded_key(key: str) -> str:
    """Return the stored form of a key that somebody has typed, in any spelling of its topic, encoded or not."""
    key = key.strip("/").removesuffix("=")
    if value_field(key) is None:
        return key
    group, *names = key.split("/")
    return "/".join((group, *(encode_component(folded(_decode(name))) for name in names)))


def file_key(path: str, directory: str | None) -> str:
    """Return the key of a file in a conversation that works in a directory; the path is as tools write it."""
    return f"{FILES}/{file_leaf(path, directory)}".removesuffix("=")


def decoded_key(key: str) -> str:
    """Return a decoded key for display; a component that cannot be decoded is kept."""
    return "/".join(map(_decode, key.split("/")))


def display_key(key: str) -> str:
    """Return a decoded key for people: that of a file outside of the project is its absolute path alone."""
    shown = decoded_key(key)
    return shown.partition("/")[2] if shown.startswith(f"{FILES}//") else shown


def _decode(component: str) -> str:
    try:
        return decode_component(component)
    except Invalid:
        return component


def agent_of(path: str) -> str | None:
    """Return the agent of a path below `state/`; None if claims of its group are not per agent."""
    names = path.removesuffix("=").split("/")
    return _decode(names[-1]) if len(names) > 2 and per_agent(path) else None
