"""State three ways: what each side changed since the base, by subject, and a base where there are several or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from scopes.history.messages import STATE_DIRECTORY, message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import MESSAGES, group_of, key_of_path, path_prefixes
from scopes.store.graph import drop_ancestors, list_merge_bases, list_new_commits, split_histories, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit, read_tree
from scopes.store.trees import Change, diff_blobs, find_entry, update_tree


class PathChange(NamedTuple):
    """What became of one path: its former and its present blob, None for none."""

    old: Oid | None
    new: Oid | None


Moves: TypeAlias = Mapping[str, PathChange]
"""Moves by path below `state/`."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a merge: its tip, its state, its commits since the base (oldest first), its moves by subject."""

    tip: Oid
    state: Oid | None
    commits: tuple[Commit, ...]
    subjects: Mapping[str, Moves]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two sides and where they come from; without a common commit `bases` holds the last common message of each."""

    target: Side
    source: Side
    bases: tuple[Oid, ...]
    base_state: Oid | None


def state_of(objects: Objects, commit: Oid) -> Oid | None:
    """Return the tree below `state/` of a commit, or None while there is none."""
    entry = read_tree(objects, read_commit(objects, commit).tree).get(STATE_DIRECTORY)
    return entry.oid if entry is not None and entry.is_tree else None


def find_divergence(
    repository: Repository, objects: Objects, target: Oid, source: Oid, *, unrelated: bool = False
) -> Divergence | None:
    """Compare two tips; None where they have neither a commit nor a message in common, and `unrelated` is not given.

    Trees of a base that is merged of several are written to `objects`.
    """
    bases, ours, theirs = split_histories(repository, target, source)
    if bases:
        return compare_sides(objects, target, source, ours, theirs, bases, _merged_base(repository, objects, bases))
    common = _last_common_message(repository, target, source)
    if common is None:
        ours, theirs = (list_new_commits(repository, tip, None) for tip in (target, source))
        return compare_sides(objects, target, source, ours, theirs, (), None) if unrelated else None
    ours = list_new_commits(repository, target, common[0])
    theirs = list_new_commits(repository, source, common[1])
    states = [state_of(objects, base) for base in common]
    base_state = _agreed(objects, None, states[0], states[1])
    return compare_sides(objects, target, source, ours, theirs, common, base_state)


def compare_sides(  # noqa: PLR0917 - both sides, then what is below them
    objects: Objects,
    target: Oid,
    source: Oid,
    ours: Iterable[Commit],
    theirs: Iterable[Commit],
    bases: tuple[Oid, ...],
    base_state: Oid | None,
) -> Divergence:
    """Compare two tips over a base that is known."""
    sides = [
        Side(tip, state, tuple(commits), changes_by_key(objects, base_state, state))
        for tip, commits in ((target, ours), (source, theirs))
        for state in (state_of(objects, tip),)
    ]
    return Divergence(sides[0], sides[1], bases, base_state)


def changes_by_key(objects: Objects, before: Oid | None, after: Oid | None) -> dict[str, dict[str, PathChange]]:
    """Return what differs between two states, by subject and path."""
    found: dict[str, dict[str, PathChange]] = {}
    for path, old, new in diff_blobs(objects, before, after):
        found.setdefault(key_of_path(path), {})[path] = PathChange(old, new)
    return found


def changes_on(
    objects: Objects, before: Oid | None, after: Oid | None, keys: Iterable[str]
) -> dict[str, dict[str, PathChange]]:
    """Return what differs on some subjects only, and on all messages: in two states that may differ in very much."""
    found: dict[str, dict[str, PathChange]] = {}
    if before == after:
        return found
    wanted = dict.fromkeys(key for key in keys if group_of(key) != MESSAGES)
    for place in dict.fromkeys((MESSAGES, *(place for key in wanted for place in path_prefixes(key)))):
        for path, old, new in _diff_at(objects, before, after, place):
            key = key_of_path(path)
            if key in wanted or group_of(key) == MESSAGES:
                found.setdefault(key, {})[path] = PathChange(old, new)
    return found


def _diff_at(
    objects: Objects, before: Oid | None, after: Oid | None, place: str
) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield the claims at a place and below it that differ."""
    old, new = (None if state is None else find_entry(objects, state, f"{place}=") for state in (before, after))
    if old != new:
        blobs = [None if entry is None or entry.is_tree else entry.oid for entry in (old, new)]
        yield f"{place}=", blobs[0], blobs[1]
    old, new = (None if state is None else find_entry(objects, state, place) for state in (before, after))
    if old != new:
        trees = [entry.oid if entry is not None and entry.is_tree else None for entry in (old, new)]
        for path, left, right in diff_blobs(objects, trees[0], trees[1]):
            yield f"{place}/{path}", left, right


def _merged_base(repository: Repository, objects: Objects, bases: tuple[Oid, ...]) -> Oid | None:
    """Return the state of the merge base; of several, taken by id, they are merged into one that nobody committed."""
    state = state_of(objects, bases[0])
    for count, base in enumerate(bases[1:], 1):
        below = [found for known in bases[:count] for found in list_merge_bases(repository, known, base)]
        lower = drop_ancestors(repository, below)
        lower_state = _merged_base(repository, objects, lower) if lower else None
        state = _agreed(objects, lower_state, state, state_of(objects, base))
    return state


def _agreed(objects: Objects, base: Oid | None, one: Oid | None, two: Oid | None) -> Oid | None:
    """Merge two states; a path that both changed differently is left out, as if it had no base."""
    if one == two:
        return one
    ours = {path: PathChange(old, new) for path, old, new in diff_blobs(objects, base, one)}
    changes: dict[str, Change] = {}
    for path, old, new in diff_blobs(objects, base, two):
        mine = ours.get(path, PathChange(old, old)).new
        if mine != new:
            changes[path] = new if mine == old else None
    return update_tree(objects, one, changes) if changes else one


def _last_common_message(repository: Repository, target: Oid, source: Oid) -> tuple[Oid, Oid] | None:
    """Find the newest message of the target that the source has too, at a commit of its own."""
    theirs: dict[MessageId, Oid] = {}
    for commit in walk_newest_first(repository, [source]):
        theirs.setdefault(message_id_of(commit), commit.oid)
    for commit in walk_newest_first(repository, [target]):
        found = theirs.get(message_id_of(commit))
        if found is not None:
            return commit.oid, found
    return None
