"""Keys: what two sides can disagree about, and the type of a conflict on each.

A key is the path of a claim below `state/`, without the agent: claims of two agents about one thing have the same key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from scopes.errors import Invalid
from scopes.history.messages import STATE_DIRECTORY, message_id_of, read_body
from scopes.ids import MessageId, Oid
from scopes.model.canonical_json import decode_component, encode_component, leaf
from scopes.model.conflicts import CONFLICT_TYPES
from scopes.model.message import (
    ANALYSES,
    DECISIONS,
    ENTITIES,
    FILES,
    MESSAGES,
    METHODS,
    PRIORITIES,
    PROPOSALS,
    TYPED_KINDS,
    Message,
    claims_of,
    folded,
)
from scopes.store.graph import walk_newest_first
from scopes.store.objects import (
    BlobChange,
    Commit,
    Objects,
    find_blob,
    find_entry,
    find_subtree,
    read_commit,
    read_tree,
)

_TYPE_OF_GROUP = {row.group: name for name, row in CONFLICT_TYPES.items() if row.group is not None}
_UNKNOWN = "unknown"
_VALUE_FIELDS = {row.group: row.value_field for row in CONFLICT_TYPES.values() if row.group is not None}
_FIELD_OF_UNKNOWN = CONFLICT_TYPES[_UNKNOWN].value_field
_PER_AGENT = frozenset(row.group for row in CONFLICT_TYPES.values() if row.group is not None and row.per_agent)
_GROUPS_WITH_OTHER_KEYS = _PER_AGENT | {ENTITIES}  # where a key is not the path
NOUNS = {
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


def group_of(key: str) -> str:
    """Return the first component of a key."""
    return key.partition("/")[0]


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


def find_file(objects: Objects, tree: Oid | None, path: str) -> Oid | None:
    """Return the blob of the file at a path; None if there is no file."""
    entry = find_entry(objects, tree, path)
    return None if entry is None or entry.is_tree else entry.oid


_STATED_GROUPS = frozenset(row.group for row in CONFLICT_TYPES.values()) - {None, FILES, MESSAGES}
RESOLVING_KINDS = frozenset({"notice", "merge"})
_STATE = f"{STATE_DIRECTORY}/"


class Restated(NamedTuple):
    """The commit that stated the value of the base again, and the blob of that value."""

    commit: Oid
    blob: Oid


def stated_claims(message: Message) -> dict[str, bytes]:
    """Return the claims of a typed message (a decision, an analysis, ...), by path below `state/`."""
    if message.payload is None:
        return {}
    claims = claims_of(message, lambda _: None)
    return {path: claim for path, claim in claims if path.partition("/")[0] in _STATED_GROUPS}


def find_restated(
    objects: Objects,
    commits: Iterable[Commit],
    before: Oid | None,
    after: Oid | None,
    known: frozenset[MessageId],
) -> dict[str, dict[str, Restated]]:
    """Return the claims that messages stated again with the value that they had before, by key and path.

    `commits` lead from the state `before` to the state `after`, oldest first. Messages in `known`, which the other side
    has too, and messages that were amended or retracted do not count.
    """
    found: dict[str, dict[str, Restated]] = {}
    for commit in commits if before is not None and after is not None else ():
        if message_id_of(commit) in known:
            continue
        for path in _stated_paths(objects, commit, after):
            old, new = (find_file(objects, state, path) for state in (before, after))
            if old is not None and old == new:
                found.setdefault(key_of_path(path), {})[path] = Restated(commit.oid, old)
    return found


def can_state(commit: Commit) -> bool:
    """Return True if a commit is of a kind that can state a claim: a typed message, or a resolution."""
    return commit.kind in TYPED_KINDS | RESOLVING_KINDS


def stated_topics(objects: Objects, commit: Commit) -> set[str]:
    """Return the keys that a commit states, as a typed message or as a resolution, valid or not."""
    message = read_body(objects, commit)
    keys = (*map(key_of_path, stated_claims(message)), *_resolved_keys(message.extra))
    withdrawn = withdrawn_topic(message.extra)
    return {*keys, *(() if withdrawn is None else (withdrawn,))}


def _stated_paths(objects: Objects, commit: Commit, state: Oid | None) -> Iterator[str]:
    """Yield the paths that a commit stated, as a typed message or as the resolution of a conflict."""
    kind = commit.kind
    if kind in TYPED_KINDS:
        yield from stated_claims(_read_valid(objects, commit, state))
    elif kind in RESOLVING_KINDS and state is not None:
        for key in _resolved_keys(read_body(objects, commit).extra):
            if group_of(key) in _STATED_GROUPS:
                yield f"{key}="
                tree = find_subtree(objects, state, key)
                agents = () if tree is None else read_tree(objects, tree)
                yield from (f"{key}/{name}" for name in agents)


def _read_valid(objects: Objects, commit: Commit, state: Oid | None) -> Message:
    """Read a message; without its payload if a state says that it was amended or retracted."""
    message = read_body(objects, commit)
    amended = find_file(objects, state, leaf(MESSAGES, message.id))
    return message if amended is None else Message(id=message.id, author=message.author, parts=())


def claims_without(objects: Objects, tip: Oid, withdrawn: Message) -> dict[str, BlobChange]:
    """Return the changes to the state of `tip` that make the claims of a typed message void.

    A claim that is in force is replaced by the newest other statement about the same thing, or removed.
    """
    tree = read_commit(objects, tip).tree
    claims = stated_claims(withdrawn)
    in_force = {path for path, claim in claims.items() if find_blob(objects, tree, _STATE + path) == claim}
    changes: dict[str, BlobChange] = dict.fromkeys(in_force)
    missing = set(in_force)
    for commit in walk_newest_first(objects, [tip]):
        if not missing:
            break
        for path, claim in _claims_at(objects, commit, tree, missing, withdrawn.id):
            # a resolution that only took the value of the withdrawn message is void with it
            is_void = claim == claims[path] and commit.kind in RESOLVING_KINDS
            changes[path] = None if is_void else claim
            missing.discard(path)
    return changes


def _claims_at(
    objects: Objects, commit: Commit, tree: Oid, paths: Iterable[str], withdrawn: MessageId
) -> Iterator[tuple[str, bytes | None]]:
    """Yield the claims on paths that a commit made, as a typed message or as the resolution of a conflict."""
    kind = commit.kind
    wanted = list(paths)
    if kind in TYPED_KINDS and message_id_of(commit) != withdrawn:
        claims = stated_claims(_read_valid(objects, commit, find_subtree(objects, tree, STATE_DIRECTORY)))
        yield from ((path, claims[path]) for path in wanted if path in claims)
    elif kind in RESOLVING_KINDS:
        extra = read_body(objects, commit).extra
        resolved, topic = set(_resolved_keys(extra)), withdrawn_topic(extra)
        for path in wanted:
            if key_of_path(path) == topic:
                yield path, None
            elif key_of_path(path) in resolved:
                yield path, find_blob(objects, commit.tree, _STATE + path)


def withdrawn_topic(extra: Mapping[str, Any]) -> str | None:
    """Return the key of the claims that a notice withdrew; None if it withdrew none."""
    match extra:
        case {"withdraws": {"key": str(key)}}:
            return key
    return None


def _resolved_keys(extra: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys whose conflicts a message resolved."""
    match extra:
        case {"conflict": {"key": str(key), "status": "resolved"}}:
            yield key
        case {"merge": {"resolved": list(documents)}}:
            found = (document.get("key") for document in documents if isinstance(document, dict))
            yield from (key for key in found if isinstance(key, str))
