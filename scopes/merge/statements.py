"""Find which message states the value of a claim, also where it repeats the value that was there before.

A state shows values only. That a decision was made again after the merge base, or that it is void because its message
was retracted, is in the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from scopes.history.messages import STATE_DIRECTORY, message_id_of, read_message_at
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import decoded_key, group_of, key_of_path
from scopes.model.claims import DECISIONS, FILES, MESSAGES, PROPOSALS, REVIEWS, claims_of
from scopes.model.conflicts import CONFLICT_TYPES
from scopes.model.message import TYPED_KINDS, Message
from scopes.model.path_encoding import leaf
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_commit, read_tree
from scopes.store.trees import BlobChange, diff_blobs, find_blob, find_entry

_STATED_GROUPS = frozenset(row.group for row in CONFLICT_TYPES.values()) - {None, FILES, MESSAGES}
RESOLVING_KINDS = frozenset({"notice", "merge"})
_STATE = f"{STATE_DIRECTORY}/"
_PROPOSED = f"{_STATE}{PROPOSALS}"
_PROPOSAL = "proposal"  # kind of message


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
            old, new = (None if state is None else find_entry(objects, state, path) for state in (before, after))
            if old is not None and old == new:
                found.setdefault(key_of_path(path), {})[path] = Restated(commit.oid, old.oid)
    return found


def can_state(commit: Commit) -> bool:
    """Return True if a commit is of a kind that can state a claim: a typed message, or a resolution."""
    return commit.kind in TYPED_KINDS | RESOLVING_KINDS


def stated_topics(objects: Objects, commit: Commit) -> set[str]:
    """Return the keys that a commit states, as a typed message or as a resolution, valid or not."""
    message = read_message_at(objects, commit.tree)
    keys = (*map(key_of_path, stated_claims(message)), *_resolved_keys(message.extra))
    withdrawn = withdrawn_topic(message.extra)
    return {*keys, *(() if withdrawn is None else (withdrawn,))}


def _stated_paths(objects: Objects, commit: Commit, state: Oid | None) -> Iterator[str]:
    """Yield the paths that a commit stated, as a typed message or as the resolution of a conflict."""
    kind = commit.kind
    if kind in TYPED_KINDS:
        yield from stated_claims(_read_valid(objects, commit, state))
    elif kind in RESOLVING_KINDS and state is not None:
        for key in _resolved_keys(read_message_at(objects, commit.tree).extra):
            if group_of(key) in _STATED_GROUPS:
                yield f"{key}="
                entry = find_entry(objects, state, key)
                agents = read_tree(objects, entry.oid) if entry is not None and entry.is_tree else ()
                yield from (f"{key}/{name}" for name in agents)


def _read_valid(objects: Objects, commit: Commit, state: Oid | None) -> Message:
    """Read a message; without its payload if a state says that it was amended or retracted."""
    message = read_message_at(objects, commit.tree)
    amended = None if state is None else find_entry(objects, state, leaf(MESSAGES, message.id))
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
    return {**_claims_before(objects, tip, withdrawn), **changes} if withdrawn.kind == _PROPOSAL else changes


def superseded_claims(objects: Objects, tip: Oid, message: Message) -> dict[str, BlobChange]:
    """Return the changes to the state of `tip` that remove what else the proposals claim that a proposal supersedes.

    An accepted one is not superseded (S4-60).
    """
    tree = read_commit(objects, tip).tree
    claims = stated_claims(message) if message.kind == _PROPOSAL else {}
    blobs = {path: find_blob(objects, tree, _STATE + path) for path in claims}
    missing = {path for path, blob in blobs.items() if blob is not None}
    changes: dict[str, BlobChange] = {}
    newer: set[str] = set()
    for commit in walk_newest_first(objects, [tip]) if missing else ():
        if not missing:
            break
        earlier = _read_proposal_claims(objects, commit)
        replaced = {path for path in missing if earlier.get(path) == blobs[path]}
        if replaced and find_blob(objects, tree, _STATE + leaf(REVIEWS, message_id_of(commit))) is None:
            others = earlier.keys() - claims.keys() - newer
            changes |= {path: None for path in others if find_blob(objects, tree, _STATE + path) == earlier[path]}
        missing -= replaced
        newer |= earlier.keys()
    return changes


def _claims_before(objects: Objects, tip: Oid, withdrawn: Message) -> dict[str, BlobChange]:
    """Return the claims that a proposal removed because it superseded their proposal, if nobody made others since."""
    tree = read_commit(objects, tip).tree
    newer: set[str] = set()
    for commit in walk_newest_first(objects, [tip]):
        if message_id_of(commit) != withdrawn.id:
            newer |= _read_proposal_claims(objects, commit).keys()
            continue
        entries = [find_entry(objects, read_commit(objects, oid).tree, _PROPOSED) for oid in commit.parents[:1]]
        after = find_entry(objects, commit.tree, _PROPOSED)
        before = entries[0] if entries else None
        trees = [None if entry is None else entry.oid for entry in (before, after)]
        removed = {f"{PROPOSALS}/{path}": old for path, old, new in diff_blobs(objects, *trees) if new is None}
        return {
            path: blob
            for path, blob in removed.items()
            if path not in newer and find_blob(objects, tree, _STATE + path) is None
        }
    return {}


def list_decided_topics(objects: Objects, tips: Iterable[Oid]) -> list[str]:
    """Return the topics of the decisions in the states of some commits, folded and sorted."""
    trees = {find_entry(objects, read_commit(objects, tip).tree, _STATE + DECISIONS) for tip in tips}
    names = {name for entry in trees if entry is not None for name in read_tree(objects, entry.oid)}
    return sorted(decoded_key(name.removesuffix("=")) for name in names)


def _read_proposal_claims(objects: Objects, commit: Commit) -> dict[str, bytes]:
    """Return the claims of a proposal; none if the commit is another message."""
    if commit.kind != _PROPOSAL:
        return {}
    return stated_claims(read_message_at(objects, commit.tree))


def _claims_at(
    objects: Objects, commit: Commit, tree: Oid, paths: Iterable[str], withdrawn: MessageId
) -> Iterator[tuple[str, bytes | None]]:
    """Yield the claims on paths that a commit made, as a typed message or as the resolution of a conflict."""
    kind = commit.kind
    wanted = list(paths)
    if kind in TYPED_KINDS and message_id_of(commit) != withdrawn:
        state = find_entry(objects, tree, STATE_DIRECTORY)
        claims = stated_claims(_read_valid(objects, commit, None if state is None else state.oid))
        yield from ((path, claims[path]) for path in wanted if path in claims)
    elif kind in RESOLVING_KINDS:
        extra = read_message_at(objects, commit.tree).extra
        resolved, topic = set(_resolved_keys(extra)), withdrawn_topic(extra)
        for path in wanted:
            if key_of_path(path) == topic:
                yield path, None
            elif key_of_path(path) in resolved:
                yield path, find_blob(objects, commit.tree, _STATE + path)


def notice_of_withdrawal(message: Message, path: str) -> Message:
    """Return a notice that withdraws the claims about the topic of a path."""
    return replace(message, extra={**message.extra, "withdraws": {"key": key_of_path(path)}})


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
