"""Find the claims about one topic in all its spellings: `Database` and `database ` are one topic.

A message replaces the claims that its author made in another spelling. Stores of earlier versions have both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scopes.history.messages import STATE_DIRECTORY
from scopes.ids import Oid
from scopes.merge.conflict_keys import (
    agent_of,
    comparable_component,
    comparable_key,
    display_key,
    group_of,
    key_of_path,
    value_field,
)
from scopes.merge.statements import stated_claims, superseded_claims
from scopes.model.message import Message
from scopes.store.repository import Objects, read_commit, read_tree
from scopes.store.trees import BlobChange, find_entry


def comparable_path(path: str) -> tuple[str, str | None]:
    """Return the comparable key and the agent of a path below `state/`."""
    return comparable_key(key_of_path(path)), agent_of(path)


def group_by_topic(paths: Iterable[str]) -> dict[tuple[str, str | None], list[str]]:
    """Return paths below `state/` by topic and agent; those of one topic are its spellings, in the given order.

    Only claims with a value have topics that are words: any other path is a group of its own.
    """
    found: dict[tuple[str, str | None], list[str]] = {}
    for path in paths:
        topic = (path, None) if value_field(key_of_path(path)) is None else comparable_path(path)
        found.setdefault(topic, []).append(path)
    return found


def list_spellings(objects: Objects, state: Oid | None, key: str) -> list[str]:
    """Return the paths in a state of the claims about the topic of a key, in any spelling, of every agent, sorted."""
    if state is None or "/" not in key or value_field(key) is None:
        return []
    entry = find_entry(objects, state, group_of(key))
    if entry is None or not entry.is_tree:
        return []
    components = [comparable_component(name) for name in key.split("/")[1:]]
    return sorted(_walk_matching(objects, entry.oid, group_of(key), components))


def list_shown_spellings(objects: Objects, states: Iterable[Oid | None], key: str) -> tuple[str, ...]:
    """Return the keys for people under which the claims about a topic are in some states; none if there is only one."""
    names = dict.fromkeys(
        display_key(key_of_path(path)) for state in states for path in list_spellings(objects, state, key)
    )
    return tuple(names) if len(names) > 1 else ()


def _walk_matching(objects: Objects, tree: Oid, prefix: str, components: list[str]) -> Iterator[str]:
    for name, entry in read_tree(objects, tree).items():
        path = f"{prefix}/{name}"
        if not components:
            yield path
        elif comparable_component(name.removesuffix("=")) == components[0]:
            if entry.is_tree:
                yield from _walk_matching(objects, entry.oid, path, components[1:])
            elif len(components) == 1:
                yield path


def replaced_claims(objects: Objects, tip: Oid, message: Message) -> dict[str, BlobChange]:
    """Return the changes to the state of `tip` that remove what a message replaces beside its own claims.

    That is what it states in another spelling, and the other fields of the proposals that it supersedes.
    """
    if message.kind == "proposal":
        return superseded_claims(objects, tip, message)
    paths = [path for path in stated_claims(message) if value_field(key_of_path(path)) is not None]
    entry = find_entry(objects, read_commit(objects, tip).tree, STATE_DIRECTORY) if paths else None
    if entry is None:
        return {}
    found = [other for path in paths for other in find_other_spellings(objects, entry.oid, path)]
    return dict.fromkeys(other for other in found if other not in paths)


def find_other_spellings(objects: Objects, state: Oid | None, path: str) -> list[str]:
    """Return the paths in a state of the claims of the same agent about the same topic in another spelling."""
    same = comparable_path(path)
    found = list_spellings(objects, state, key_of_path(path))
    return [other for other in found if other != path and comparable_path(other) == same]


def keep_one_spelling(changes: Mapping[str, BlobChange], preferred: Iterable[str] = ()) -> dict[str, BlobChange]:
    """Return changes to the paths of one topic that leave one claim: a preferred one, or else the first by path."""
    wanted = set(preferred)
    kept: dict[tuple[str, str | None], str] = {}
    for path in sorted(changes, key=lambda path: (path not in wanted, path)):
        if changes[path] is not None:
            kept.setdefault(comparable_path(path), path)
    return {path: blob if kept.get(comparable_path(path)) == path else None for path, blob in changes.items()}
