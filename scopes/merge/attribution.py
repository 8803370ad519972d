"""Name the authors of conflicting values: the message that set each path of the state, as positions of a conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scopes.history.messages import header_of, message_id_of, read_body, read_message
from scopes.history.tool_calls import find_call_message
from scopes.ids import Oid
from scopes.merge.conflict_keys import group_of, key_of_path, value_field
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence, PathChanges, Side, state_of
from scopes.merge.statements import RESOLVING_KINDS
from scopes.model import encoding
from scopes.model.claims import ENTITIES, MESSAGES, PROPOSALS
from scopes.model.conflicts import Conflict, Position, conflict_id
from scopes.model.message import Message
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_commit
from scopes.store.trees import diff_blobs, find_entry, read_blob

_TOOL = "tool"  # kind of author
_PROPOSAL_GROUPS = frozenset({PROPOSALS, ENTITIES})


class Blame(NamedTuple):
    """The newest commit that stated the value of each path, and the newest that chose it to resolve a conflict."""

    authors: dict[str, Oid]
    resolvers: dict[str, Oid]


def blame_paths(objects: Objects, newest_first: Iterable[Commit], wanted: Mapping[str, Oid | None]) -> Blame:
    """Find the newest commits that set each path to its blob; `wanted` maps paths to blobs.

    A merge commit counts only for paths that differ from all its parents. The resolution of a conflict that took the
    value of a side is not its author.
    """
    found = Blame({}, {})
    missing = dict(wanted)
    states: dict[Oid, Oid | None] = {}
    for commit in newest_first if missing else ():
        if not missing:
            break
        state = states.pop(commit.oid) if commit.oid in states else state_of(objects, commit.oid)
        for parent in commit.parents:
            states.setdefault(parent, state_of(objects, parent))
        changed: set[str] | None = None
        for before in [states[parent] for parent in commit.parents] or [None]:
            paths = {path for path, _, new in diff_blobs(objects, before, state) if missing.get(path, path) == new}
            changed = paths if changed is None else changed & paths
        key = _key_with_side_taken(objects, commit)
        on_key = () if key is None else [path for path in missing if key_of_path(path) == key]
        chosen = {path for path in on_key if blob_at(objects, state, path) == wanted[path]}
        found.resolvers.update({path: commit.oid for path in chosen if path not in found.resolvers})
        for path in (changed or set()) - chosen:
            found.authors[path] = commit.oid
            del missing[path]
    return found


def _key_with_side_taken(objects: Objects, commit: Commit) -> str | None:
    """Return the key of the conflict that a commit resolved with the value of a side or of the base, or None."""
    if commit.kind != "notice":
        return None
    match read_body(objects, commit).extra.get("conflict"):
        case {"status": "resolved", "choice": "source" | "target" | "base" | "value", "key": str(key)}:
            return key
    return None


def describe(objects: Objects, divergence: Divergence, disagreements: Iterable[Disagreement]) -> list[Conflict]:
    """Return a conflict for each disagreement, with the positions of the base and of both sides."""
    listed = list(disagreements)
    if not listed:
        return []
    authors = {
        "target": _blame_side(
            objects, divergence.target, [each.target for each in listed], [each.target_restated for each in listed]
        ),
        "source": _blame_side(
            objects, divergence.source, [each.source for each in listed], [each.source_restated for each in listed]
        ),
        "base": _blame_base(objects, divergence, listed),
    }
    originals = _find_original_messages(objects, divergence, [each.key for each in listed])
    return [_conflict(objects, each, authors, originals) for each in listed]


def _blame_side(
    objects: Objects, side: Side, changes: Sequence[PathChanges], restated: Iterable[Mapping[str, Oid]]
) -> Blame:
    wanted = {path: change.new for each in changes for path, change in each.items() if change.new != change.old}
    found = blame_paths(objects, reversed(side.commits), wanted)
    older = {path: blob for path, blob in wanted.items() if path not in found.authors and blob is not None}
    if older:  # a replayed message may meet values that are older than the commits of its new base
        found = _add_older(found, blame_paths(objects, walk_newest_first(objects, [side.tip]), older))
    again = {path: oid for paths in restated for path, oid in paths.items()}
    chosen = {path for path, oid in again.items() if read_commit(objects, oid).kind in RESOLVING_KINDS}
    if chosen:  # a resolution stated the value again: its author is in the history before
        unchanged = {path: change.new for each in changes for path, change in each.items() if path in chosen}
        found = _add_older(found, blame_paths(objects, walk_newest_first(objects, [side.tip]), unchanged))
    stated = {path: oid for path, oid in again.items() if path not in chosen}
    resolved = {path: oid for path, oid in again.items() if path in chosen}
    return _with_resolvers_as_authors(Blame({**found.authors, **stated}, {**found.resolvers, **resolved}))


def _blame_base(objects: Objects, divergence: Divergence, disagreements: Iterable[Disagreement]) -> Blame:
    wanted = {
        path: change.old
        for each in disagreements
        for changes in (each.target, each.source)
        for path, change in changes.items()
        if change.old is not None
    }
    commits = walk_newest_first(objects, divergence.bases) if wanted else ()
    return _with_resolvers_as_authors(blame_paths(objects, commits, wanted))


def _add_older(newer: Blame, older: Blame) -> Blame:
    return Blame({**older.authors, **newer.authors}, {**older.resolvers, **newer.resolvers})


def _with_resolvers_as_authors(found: Blame) -> Blame:
    """Name the resolver as the author of a value that no message stated."""
    return found._replace(authors={**found.resolvers, **found.authors})


def _find_original_messages(objects: Objects, divergence: Divergence, keys: Iterable[str]) -> dict[str, Oid]:
    """Return the commits, in the history of the bases, of the messages that keys are about."""
    missing = {key.partition("/")[2]: key for key in keys if group_of(key) == MESSAGES}
    found: dict[str, Oid] = {}
    for commit in walk_newest_first(objects, divergence.bases) if missing else ():
        key = missing.pop(message_id_of(commit), None)
        if key is not None:
            found[key] = commit.oid
        if not missing:
            break
    return found


def _conflict(
    objects: Objects,
    disagreement: Disagreement,
    authors: Mapping[str, Blame],
    originals: Mapping[str, Oid],
) -> Conflict:
    key, sides = disagreement.key, (disagreement.target, disagreement.source)
    old_blobs = {path: change.old for changes in sides for path, change in changes.items()}
    original = [originals[key]] if key in originals and not any(old_blobs.values()) else []
    base = _positions(objects, key, old_blobs, authors["base"], original)
    target, source = (
        _positions(
            objects,
            key,
            {path: change.new for path, change in changes.items() if change.new != change.old or path in restated},
            authors[name],
            messages,
        )
        for name, changes, restated, messages in (
            ("target", disagreement.target, disagreement.target_restated, disagreement.target_messages),
            ("source", disagreement.source, disagreement.source_restated, disagreement.source_messages),
        )
    )
    values = [[position.value for position in positions] for positions in (base, source, target)]
    return Conflict(
        id=conflict_id(disagreement.type, key, *values),
        type=disagreement.type,
        key=key,
        base=base,
        source=source,
        target=target,
    )


def _positions(
    objects: Objects, key: str, blobs: Mapping[str, Oid | None], blame: Blame, messages: Iterable[Oid]
) -> tuple[Position, ...]:
    """Return the positions in blobs, the newest last, then those of messages."""
    authors = blame.authors
    age = {oid: rank for rank, oid in enumerate(dict.fromkeys(authors.values()))}  # blame finds the newest first
    paths = sorted(blobs, key=lambda path: (-age.get(authors.get(path, Oid("")), len(age)), path))
    found = ((blobs[path], authors.get(path), blame.resolvers.get(path)) for path in paths)
    positions = [_position(objects, key, blob, author, by) for blob, author, by in found if blob is not None]
    for oid in messages:
        message = read_message(objects, oid)
        positions.append(Position(message.text, message.id, message.author.name, _confidence(message)))
    return tuple(positions)


def _position(objects: Objects, key: str, blob: Oid, author: Oid | None, resolver: Oid | None) -> Position:
    claim: Any = encoding.load(read_blob(objects, blob))
    value = claim_value(key, claim)
    if author is None:
        return Position(value)
    message = read_message(objects, author)
    if group_of(key) == MESSAGES and message.amends is not None:
        value = message.text
    chosen_by = None if resolver in {None, author} else read_message(objects, Oid(resolver or "")).author.name
    return Position(value, message.id, _agent_of(objects, author, message), _confidence(message), chosen_by)


def _agent_of(objects: Objects, commit: Oid, message: Message) -> str:
    """Return the author of a message; of the result of a tool, the agent that called the tool."""
    if message.author.kind != _TOOL:
        return message.author.name
    caller = find_call_message(objects, header_of(read_commit(objects, commit)))
    return message.author.name if caller is None else caller.author


def claim_value(key: str, claim: Any) -> Any:
    """Return the value of a claim: its value field if keys of that group have one, else the whole claim."""
    field = value_field(key)
    if isinstance(claim, dict) and field is not None and field in claim:
        return claim[field]
    if isinstance(claim, dict) and group_of(key) in _PROPOSAL_GROUPS and claim.get("operation") == "update":
        return claim.get("after")
    return claim


def _confidence(message: Message) -> float | None:
    value = (message.payload or {}).get("confidence")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def blob_at(objects: Objects, state: Oid | None, path: str) -> Oid | None:
    """Return the blob at a path of a state, or None."""
    entry = None if state is None else find_entry(objects, state, path)
    return None if entry is None or entry.is_tree else entry.oid
