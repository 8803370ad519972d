"""Three-way comparison of states: what each side changed since the merge base, by key.

Several merge bases are merged into one state; histories without a common commit are compared over their last common
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias, TypeVar

from scopes.history.messages import STATE_DIRECTORY, message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import group_of, key_of_path, path_prefixes
from scopes.merge.spellings import list_spellings
from scopes.merge.statements import Restated, can_state, find_restated
from scopes.model.claims import FILES, MESSAGES
from scopes.store.graph import drop_ancestors, list_merge_bases, list_new_commits, split_histories, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit, read_tree
from scopes.store.trees import BlobChange, diff_blobs, find_entry, update_tree

_Value = TypeVar("_Value")
_IN_FILES: Final = f"{FILES}/"


class PathChange(NamedTuple):
    """The old and the new blob of a path; None if there is none."""

    old: Oid | None
    new: Oid | None


PathChanges: TypeAlias = Mapping[str, PathChange]
"""Changes by path below `state/`."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a merge: its tip, its state, its commits since the base (oldest first), its changes by key.

    `restated` are the values of the base that messages of a merge's side stated again, by key and path.
    """

    tip: Oid
    state: Oid | None
    commits: Sequence[Commit]
    changes: Mapping[str, PathChanges]
    restated: Mapping[str, Mapping[str, Restated]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two sides and their merge bases; without a common commit, `bases` is the last common message of each side.

    `directory` is the first working directory of the target's conversation, if it is known.
    """

    target: Side
    source: Side
    bases: tuple[Oid, ...]
    base_state: Oid | None
    directory: str | None = None


def merge3(base: _Value, target: _Value, source: _Value, conflict: _Value) -> _Value:
    """Merge three values; return `conflict` if both sides changed the base differently.

    The rule for single blobs, for merging several merge bases into one. Claims have rules by key and type: `detection`.
    """
    if target == source:  # unchanged, or both sides made the same change
        return target
    if source == base:  # only the target changed
        return target
    if target == base:  # only the source changed
        return source
    return conflict


def state_of(objects: Objects, commit: Oid) -> Oid | None:
    """Return the tree below `state/` of a commit; None if it has none."""
    return state_in(objects, read_commit(objects, commit).tree)


def state_in(objects: Objects, tree: Oid) -> Oid | None:
    """Return the tree below `state/`, given the tree of a commit; None if it has none."""
    entry = read_tree(objects, tree).get(STATE_DIRECTORY)
    return entry.oid if entry is not None and entry.is_tree else None


def find_divergence(
    repository: Repository,
    objects: Objects,
    target: Oid,
    source: Oid,
    *,
    directory: str | None,
    unrelated: bool = False,
) -> Divergence | None:
    """Compare two tips; None if they have neither a commit nor a message in common, unless `unrelated` is given.

    The keys of files are compared relative to `directory`, see `Divergence`. The trees of merged bases are written to
    `objects`.
    """
    found = _compare_tips(repository, objects, target, source, unrelated=unrelated)
    return None if found is None else replace(found, directory=directory)


def _compare_tips(
    repository: Repository, objects: Objects, target: Oid, source: Oid, *, unrelated: bool
) -> Divergence | None:
    bases, in_target, in_source = split_histories(repository, target, source)
    if bases:
        base_state = _merge_bases(repository, objects, bases)
        return compare_sides(objects, target, source, in_target, in_source, bases, base_state)
    common = _find_last_common_message(repository, target, source)
    if common is None:
        in_target, in_source = (list_new_commits(repository, tip, None) for tip in (target, source))
        return compare_sides(objects, target, source, in_target, in_source, (), None) if unrelated else None
    in_target = list_new_commits(repository, target, common[0])
    in_source = list_new_commits(repository, source, common[1])
    states = [state_of(objects, base) for base in common]
    base_state = _merge_states(objects, None, states[0], states[1])
    return compare_sides(objects, target, source, in_target, in_source, common, base_state)


def compare_sides(  # noqa: PLR0917 - both sides, then their base
    objects: Objects,
    target: Oid,
    source: Oid,
    target_commits: Sequence[Commit],
    source_commits: Sequence[Commit],
    bases: tuple[Oid, ...],
    base_state: Oid | None,
) -> Divergence:
    """Compare two tips, given the commits of each since a known base."""
    commits = target_commits, source_commits
    sides = []
    for number, tip in enumerate((target, source)):
        state = state_of(objects, tip)
        changes = changes_by_key(objects, base_state, state)
        stating = [commit for commit in commits[number] if can_state(commit)]
        known = frozenset(map(message_id_of, commits[1 - number])) if stating else frozenset()
        restated = find_restated(objects, stating, base_state, state, known)
        sides.append(Side(tip, state, commits[number], changes, restated))
    return Divergence(sides[0], sides[1], bases, base_state)


def changes_by_key(objects: Objects, before: Oid | None, after: Oid | None) -> dict[str, dict[str, PathChange]]:
    """Return the differences between two states, by key and path."""
    found: dict[str, dict[str, PathChange]] = {}
    for path, old, new in diff_blobs(objects, before, after):
        is_file = path.startswith(_IN_FILES) and path[-1] == "="  # as `key_of_path`: there may be thousands
        key = path[:-1] if is_file else key_of_path(path)
        if key in found:
            found[key][path] = PathChange(old, new)
        else:
            found[key] = {path: PathChange(old, new)}
    return found


def changes_on(
    objects: Objects, before: Oid | None, after: Oid | None, keys: Iterable[str]
) -> dict[str, dict[str, PathChange]]:
    """Return the differences between two states on the given keys and on all messages; other keys are not read."""
    found: dict[str, dict[str, PathChange]] = {}
    if before == after:
        return found
    wanted = dict.fromkeys(key for key in keys if group_of(key) != MESSAGES)
    for key in [*wanted]:  # a topic in all its spellings
        paths = (path for state in (before, after) for path in list_spellings(objects, state, key))
        wanted |= dict.fromkeys(map(key_of_path, paths))
    for prefix in dict.fromkeys((MESSAGES, *(prefix for key in wanted for prefix in path_prefixes(key)))):
        for path, old, new in _diff_at(objects, before, after, prefix):
            key = key_of_path(path)
            if key in wanted or group_of(key) == MESSAGES:
                found.setdefault(key, {})[path] = PathChange(old, new)
    return found


def _diff_at(
    objects: Objects, before: Oid | None, after: Oid | None, prefix: str
) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield the differences at the leaf of a prefix and below it."""
    old, new = (None if state is None else find_entry(objects, state, f"{prefix}=") for state in (before, after))
    if old != new:
        blobs = [None if entry is None or entry.is_tree else entry.oid for entry in (old, new)]
        yield f"{prefix}=", blobs[0], blobs[1]
    old, new = (None if state is None else find_entry(objects, state, prefix) for state in (before, after))
    if old != new:
        trees = [entry.oid if entry is not None and entry.is_tree else None for entry in (old, new)]
        for path, left, right in diff_blobs(objects, trees[0], trees[1]):
            yield f"{prefix}/{path}", left, right


def _merge_bases(repository: Repository, objects: Objects, bases: tuple[Oid, ...]) -> Oid | None:
    """Return the state of the merge base; several are merged in order, recursively over their own bases."""
    state = state_of(objects, bases[0])
    for count, base in enumerate(bases[1:], 1):
        shared = [found for known in bases[:count] for found in list_merge_bases(repository, known, base)]
        lower_bases = drop_ancestors(repository, shared)
        lower_state = _merge_bases(repository, objects, lower_bases) if lower_bases else None
        state = _merge_states(objects, lower_state, state, state_of(objects, base))
    return state


def _merge_states(objects: Objects, base: Oid | None, target: Oid | None, source: Oid | None) -> Oid | None:
    """Merge two states; a path that both changed differently is left out, as if the base did not have it."""
    if target == source:
        return target
    target_changes = {path: PathChange(old, new) for path, old, new in diff_blobs(objects, base, target)}
    changes: dict[str, BlobChange] = {}
    for path, old, new in diff_blobs(objects, base, source):
        target_blob = target_changes.get(path, PathChange(old, old)).new
        merged = merge3(old, target_blob, new, None)
        if merged != target_blob:
            changes[path] = merged
    return update_tree(objects, target, changes) if changes else target


def _find_last_common_message(repository: Repository, target: Oid, source: Oid) -> tuple[Oid, Oid] | None:
    """Return the commits, in target and source, of the newest message of the target that the source has too."""
    source_commits: dict[MessageId, Oid] = {}
    for commit in walk_newest_first(repository, [source]):
        source_commits.setdefault(message_id_of(commit), commit.oid)
    for commit in walk_newest_first(repository, [target]):
        found = source_commits.get(message_id_of(commit))
        if found is not None:
            return commit.oid, found
    return None
