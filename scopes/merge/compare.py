"""Three-way comparison of states: what each side changed since the merge base, by key.

Several merge bases are merged into one state; histories without a common commit are compared over their last common
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from scopes.history.messages import STATE_DIRECTORY, is_root, message_id_of, read_body, read_message
from scopes.ids import MessageId, Oid
from scopes.merge.keys import (
    Restated,
    can_state,
    find_file,
    find_restated,
    group_of,
    key_of_path,
    message_key,
    type_of,
)
from scopes.model import canonical_json
from scopes.model.canonical_json import leaf
from scopes.model.message import (
    CONFLICTS,
    ENTITIES,
    FILES,
    MESSAGES,
    PROPOSALS,
    REVIEWS,
    Message,
    content_of,
    is_purged_copy,
)
from scopes.store.graph import drop_ancestors, list_merge_bases, list_new_commits, split_histories, walk_newest_first
from scopes.store.objects import (
    BlobChange,
    Commit,
    Objects,
    diff_blobs,
    find_subtree,
    read_blob,
    read_commit,
    update_tree,
)
from scopes.store.repository import Repository

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
    """Two sides and their merge bases; without a common commit, `bases` is the last common message of each side."""

    target: Side
    source: Side
    bases: tuple[Oid, ...]
    base_state: Oid | None


def state_of(objects: Objects, commit: Oid) -> Oid | None:
    """Return the tree below `state/` of a commit; None if it has none."""
    return find_subtree(objects, read_commit(objects, commit).tree, STATE_DIRECTORY)


def find_divergence(
    repository: Repository, objects: Objects, target: Oid, source: Oid, *, unrelated: bool = False
) -> Divergence | None:
    """Compare two tips; None if they have neither a commit nor a message in common, unless `unrelated` is given.

    The trees of merged bases are written to `objects`.
    """
    tips = target, source
    bases, *commits = split_histories(repository, target, source)
    if bases:
        return compare_sides(objects, tips, commits, bases, _merge_bases(repository, objects, bases))
    common = _find_last_common_message(repository, target, source)
    if common is not None:
        commits = [list_new_commits(repository, tip, base) for tip, base in zip(tips, common, strict=True)]
        base_state = _merge_states(objects, None, *(state_of(objects, base) for base in common))
        return compare_sides(objects, tips, commits, common, base_state)
    commits = [list_new_commits(repository, tip, None) for tip in tips]
    return compare_sides(objects, tips, commits, (), None) if unrelated else None


def compare_sides(
    objects: Objects,
    tips: tuple[Oid, Oid],
    commits: Sequence[Sequence[Commit]],
    bases: tuple[Oid, ...],
    base_state: Oid | None,
) -> Divergence:
    """Compare target and source, given the commits of each since a known base."""
    sides = []
    for number, tip in enumerate(tips):
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
    accepted = (f"{ENTITIES}/{key.partition('/')[2]}" for key in wanted if group_of(key) == PROPOSALS)
    for prefix in dict.fromkeys((MESSAGES, *wanted, *accepted)):
        for path, old, new in _diff_at(objects, before, after, prefix):
            key = key_of_path(path)
            if key in wanted or group_of(key) == MESSAGES:
                found.setdefault(key, {})[path] = PathChange(old, new)
    return found


def _diff_at(
    objects: Objects, before: Oid | None, after: Oid | None, prefix: str
) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield the differences at the leaf of a prefix and below it."""
    old, new = (find_file(objects, state, f"{prefix}=") for state in (before, after))
    if old != new:
        yield f"{prefix}=", old, new
    for path, left, right in diff_blobs(objects, *(find_subtree(objects, state, prefix) for state in (before, after))):
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
        in_target = target_changes.get(path, PathChange(old, old)).new
        if in_target != new:
            changes[path] = new if in_target == old else None
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


_RETRACTED = {"retracted": True}
_KINDS_BY_POSITION = frozenset({"answer", "tool-results"})


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A key that both sides changed differently.

    The messages are those that conflict without a claim of their own: answers, and copies with other content. The
    restated paths have the value of the base, which a commit of that side stated again.
    """

    key: str
    type: str
    target: PathChanges
    source: PathChanges
    target_messages: tuple[Oid, ...] = field(default=())
    source_messages: tuple[Oid, ...] = field(default=())
    target_restated: Mapping[str, Oid] = field(default_factory=dict)
    source_restated: Mapping[str, Oid] = field(default_factory=dict)


def find_disagreements(objects: Objects, divergence: Divergence) -> tuple[Disagreement, ...]:
    """Return all disagreements of two sides, sorted by key and type."""
    target, source = divergence.target, divergence.source
    found = list(_compare_changes(objects, divergence))
    found += _find_answers_to_retracted(objects, divergence, target, source)
    swapped = _find_answers_to_retracted(objects, divergence, source, target)
    found += [
        replace(each, target=each.source, source=each.target, target_messages=each.source_messages, source_messages=())
        for each in swapped
    ]
    found += _compare_content(objects, target, source)
    unique = {(each.key, each.type): each for each in reversed(found)}
    return tuple(unique[key] for key in sorted(unique))


def _compare_changes(objects: Objects, divergence: Divergence) -> Iterator[Disagreement]:
    """Compare what both sides did to the keys that both changed or stated, and at least one of them changed."""
    sides = divergence.target, divergence.source
    changes = [side.changes for side in sides]
    restated = [side.restated for side in sides]
    keys = changes[0].keys() & changes[1].keys()
    for side in (0, 1):
        keys |= changes[side].keys() & restated[1 - side].keys()
    for key in keys:
        own = [each.get(key, {}) for each in changes]
        again = [each.get(key, {}) for each in restated]
        target, source = (_changes_with_restated(own[side], again[side], own[1 - side]) for side in (0, 1))
        if group_of(key) == CONFLICTS:
            continue  # `records` merges them
        if group_of(key) == MESSAGES:
            kind = _type_on_message(objects, target, source)
        elif (
            _is_same_outcome(target, source)
            or _is_withdrawal(key, target, source)
            or find_later_review(objects, key, target, source) is not None
        ):
            kind = None
        else:
            added = all(change.old is None for changes in (target, source) for change in changes.values())
            kind = type_of(key, added=added)
        if kind is not None:
            authors = [{path: each.commit for path, each in paths.items()} for paths in again]
            yield Disagreement(key, kind, target, source, target_restated=authors[0], source_restated=authors[1])


def _changes_with_restated(
    changes: PathChanges, restated: Mapping[str, Restated], changed_by_other: PathChanges
) -> PathChanges:
    """Return the changes of a side to a key, with what it stated again: all, or what the other side changed."""
    added = restated if not changes else restated.keys() & changed_by_other.keys()
    return {**changes, **{path: PathChange(restated[path].blob, restated[path].blob) for path in added}}


def find_later_review(
    objects: Objects, key: str, target: PathChanges, source: PathChanges
) -> Literal["target", "source"] | None:
    """Return the side that applied a proposal which the other side accepted with the same values; None otherwise.

    Both are of one opinion. With the review of the other side, the values would stay in place, of a proposal that can
    be neither applied nor rolled back.
    """
    if group_of(key) != REVIEWS:
        return None
    match [_read_claims(objects, side) for side in (target, source)]:
        case [[{"status": "applied", **here}], [{"status": "accepted", **there}]]:
            return "target" if here.get("after") == there.get("after") else None
        case [[{"status": "accepted", **here}], [{"status": "applied", **there}]]:
            return "source" if here.get("after") == there.get("after") else None
    return None


def _is_same_outcome(target: PathChanges, source: PathChanges) -> bool:
    """Return True if both sides have the same values, whichever agents set them."""
    here, there = ({path: change.new for path, change in side.items()} for side in (target, source))
    same_paths = all(here[path] == there[path] for path in here.keys() & there.keys())
    return same_paths and set(here.values()) == set(there.values())


def _is_withdrawal(key: str, target: PathChanges, source: PathChanges) -> bool:
    """Return True if a side only removed claims of proposals, which were rejected, superseded or have expired.

    That is no other opinion about what is proposed on the other side, unless a value was accepted there.
    """
    if group_of(key) != PROPOSALS:
        return False
    accepted = any(group_of(path) == ENTITIES for path in (*target, *source))
    return not accepted and any(all(change.new is None for change in side.values()) for side in (target, source))


def _type_on_message(objects: Objects, target: PathChanges, source: PathChanges) -> str | None:
    retracted = [_RETRACTED in _read_claims(objects, changes) for changes in (target, source)]
    if all(retracted):
        return "delete-delete"
    if any(retracted):
        return "delete-edit"
    return None if _is_same_outcome(target, source) else "edit-edit"


def _read_claims(objects: Objects, changes: PathChanges) -> list[Any]:
    return [
        canonical_json.load(read_blob(objects, change.new)) for change in changes.values() if change.new is not None
    ]


def _find_answers_to_retracted(
    objects: Objects, divergence: Divergence, retracting: Side, answering: Side
) -> Iterator[Disagreement]:
    """Find messages that one side retracted and the other one answered; the answering side becomes the source.

    An answer or a tool result directly after a message depends on it by position ("structural"); other answers name
    the message, by `reply_to` or by the id of a tool call ("delete-edit").
    """
    retracted = {
        key: changes
        for key, changes in retracting.changes.items()
        if key.startswith(MESSAGES)
        and group_of(key) == MESSAGES
        and key not in answering.changes
        and _RETRACTED in _read_claims(objects, changes)
    }
    if not retracted:
        return
    calls: dict[str, str] | None = None
    by_position: dict[str, list[Oid]] = {}
    by_name: dict[str, list[Oid]] = {}
    for commit in answering.commits:
        if is_root(commit):
            continue  # the root of an unrelated history
        message = read_body(objects, commit)
        parent_keys = {message_key(message_id_of(read_commit(objects, parent))) for parent in commit.parents[:1]}
        if commit.kind in _KINDS_BY_POSITION and parent_keys & retracted.keys():
            by_position.setdefault(parent_keys.pop(), []).append(commit.oid)
            continue
        if calls is None and any(part.type == "tool_result" for part in message.parts):
            calls = _read_tool_calls(objects, divergence.bases, {key.partition("/")[2] for key in retracted})
        for key in _answered_keys(message, calls or {}) & retracted.keys():
            by_name.setdefault(key, []).append(commit.oid)
    for kind, answers in (("structural", by_position), ("delete-edit", by_name)):
        for key, oids in answers.items():
            unchanged = {path: PathChange(change.old, change.old) for path, change in retracted[key].items()}
            yield Disagreement(key, kind, retracted[key], unchanged, source_messages=tuple(oids))


def _read_tool_calls(objects: Objects, bases: tuple[Oid, ...], messages: set[str]) -> dict[str, str]:
    """Return the tool calls of the given messages in the history of the bases: message keys by call id."""
    found: dict[str, str] = {}
    missing = set(messages)
    for commit in walk_newest_first(objects, bases):
        if not missing:
            break
        message = message_id_of(commit)
        if message in missing:
            missing.discard(message)
            for part in read_body(objects, commit).parts:
                call_id = part.fields.get("call_id")
                if part.type == "tool_call" and isinstance(call_id, str):
                    found[call_id] = message_key(message)
    return found


def _answered_keys(message: Message, calls: Mapping[str, str]) -> set[str]:
    """Return the keys of the messages that a message names as answered."""
    keys = {message_key(message.reply_to)} if message.reply_to is not None else set()
    call_ids = (part.fields.get("call_id") for part in message.parts if part.type == "tool_result")
    return keys | {calls[call_id] for call_id in call_ids if isinstance(call_id, str) and call_id in calls}


def _compare_content(objects: Objects, target: Side, source: Side) -> Iterator[Disagreement]:
    """Find messages that both sides have with the same id and different content; one purged on a side is none."""
    in_target, in_source = ({message_id_of(commit): commit for commit in side.commits} for side in (target, source))
    for message in in_target.keys() & in_source.keys():
        oids = in_target[message].oid, in_source[message].oid
        here, there = (read_message(objects, oid) for oid in oids)
        is_same = content_of(here) == content_of(there)
        if not (is_same or is_purged_copy(here, there) or is_purged_copy(there, here)):
            nothing = {leaf(MESSAGES, message): PathChange(None, None)}
            yield Disagreement(message_key(message), "add-add", nothing, nothing, oids[:1], oids[1:])
