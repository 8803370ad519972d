"""Plan a merge: the messages that are new in the target, the conflicts and their resolutions, the merged state."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from scopes.errors import Refused
from scopes.history.messages import is_root, message_id_of, read_body
from scopes.ids import MessageId, Oid
from scopes.merge.apply_resolution import apply_resolution
from scopes.merge.attribution import describe
from scopes.merge.automatic_resolution import Policy, auto_resolve
from scopes.merge.conflict_keys import comparable_key, group_of, key_of_path
from scopes.merge.detection import Disagreement, find_disagreements
from scopes.merge.divergence import Divergence, PathChanges, Side, find_divergence
from scopes.merge.earlier_resolutions import EarlierResolutions
from scopes.merge.files import FileComparison, compare_files
from scopes.merge.records import conflict_path, list_inherited, merge_records
from scopes.merge.spellings import comparable_path, keep_one_spelling, list_spellings
from scopes.model.claims import CONFLICTS, FILES, PROPOSALS, content_of
from scopes.model.conflicts import Conflict, encode_conflict
from scopes.model.tombstone import is_purged_copy
from scopes.result import Note
from scopes.store.repository import Objects, Repository
from scopes.store.trees import BlobChange, find_entry, replace_subtree, take_changes, update_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """A planned merge.

    Attributes:
        conflicts: One for each of `disagreements`, in the same order, resolved or open.
        messages: The messages that are new in the target, oldest first (S4-11).
        inherited: The conflicts of earlier merges that would still be open in the merged state.
        files: What both sides did to the files that both changed, sorted by path.
    """

    divergence: Divergence
    disagreements: tuple[Disagreement, ...]
    conflicts: tuple[Conflict, ...]
    messages: tuple[MessageId, ...]
    inherited: tuple[Conflict, ...] = ()
    notes: tuple[Note, ...] = ()
    files: tuple[FileComparison, ...] = ()

    @property
    def open_conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts that are not resolved."""
        return tuple(conflict for conflict in self.conflicts if conflict.status != "resolved")

    @property
    def up_to_date(self) -> bool:
        """True if the target has all commits of the source."""
        return not self.divergence.source.commits

    @property
    def fast_forward(self) -> bool:
        """True if the target is an ancestor of the source."""
        return self.divergence.bases == (self.divergence.target.tip,)


def plan_merge(
    repository: Repository,
    objects: Objects,
    target: Oid,
    source: Oid,
    policy: Policy,
    *,
    earlier: EarlierResolutions | None = None,
    unrelated: bool = False,
    directory: str | None = None,
) -> MergePlan:
    """Plan the merge of two commits. Only trees are written, to `objects`; no ref moves.

    The keys of files are compared relative to `directory`, see `Divergence`. `earlier` finds how a conflict was
    resolved before.

    Raises:
        Refused: the histories have nothing in common and `unrelated` is not given, or a rule forbids the merge.
    """
    divergence = find_divergence(repository, objects, target, source, directory=directory, unrelated=unrelated)
    if divergence is None:
        raise Refused("the two histories have no message in common", hint="merge them anyway with --allow-unrelated")
    plan = plan_of(objects, divergence, policy, earlier)
    files = compare_files(objects, divergence, [each.key for each in plan.disagreements])
    return replace(plan, files=files, inherited=tuple(list_inherited(objects, divergence)))


def plan_of(
    objects: Objects,
    divergence: Divergence,
    policy: Policy,
    earlier: EarlierResolutions | None,
) -> MergePlan:
    """Find the conflicts of a divergence and resolve those that the policy resolves."""
    disagreements = find_disagreements(objects, divergence)
    conflicts, notes = auto_resolve(describe(objects, divergence, disagreements), policy, earlier)
    return MergePlan(
        divergence=divergence,
        disagreements=disagreements,
        conflicts=tuple(conflicts),
        messages=_list_new_messages(divergence.source, divergence.target),
        notes=tuple(notes),
    )


def adds_nothing(objects: Objects, plan: MergePlan) -> bool:
    """Return True if the target has copies of all messages of the source, and the merge keeps its state.

    Copies are compared as `diff` does: an import of a session that was cut off has other usage counts. A message that
    was purged in the target stays so.
    """
    if plan.messages or plan.disagreements or plan.fast_forward:
        return False
    copies = {message_id_of(commit): commit for commit in plan.divergence.target.commits}
    for commit in plan.divergence.source.commits:
        copy = copies.get(message_id_of(commit))
        if copy is None:
            return False
        here, there = read_body(objects, copy), read_body(objects, commit)
        if content_of(here) != content_of(there) and not is_purged_copy(here, there):
            return False
    return write_state(objects, plan) == plan.divergence.target.state


def write_state(objects: Objects, plan: MergePlan) -> Oid | None:
    """Write the merged state of a plan and return its tree."""
    return merged_state(objects, plan.divergence, plan.disagreements, plan.conflicts)


def _take_source(
    objects: Objects, divergence: Divergence, key: str, source_changes: PathChanges
) -> dict[str, BlobChange]:
    """Return the changes of the source to a key without a conflict; equal outcomes get one spelling.

    A proposal of the target stays if the source only withdrew the one before it.
    """
    changes: dict[str, BlobChange] = {path: change.new for path, change in source_changes.items()}
    ours = divergence.target.changes.get(key, {})
    if group_of(key) == PROPOSALS:
        kept = {path for path, change in ours.items() if change.new is not None}
        changes = {path: blob for path, blob in changes.items() if blob is not None or path not in kept}
    spellings = list_spellings(objects, divergence.target.state, key)
    stated = {comparable_path(path) for path, blob in changes.items() if blob is not None} if spellings else set()
    for path in spellings:
        if path not in changes and comparable_path(path) in stated:
            change = divergence.target.changes.get(key_of_path(path), {}).get(path)
            changes[path] = None if change is None else change.new  # unchanged: the source states it anew
    return keep_one_spelling(changes) if len(changes) > 1 else changes


def _list_new_messages(source: Side, target: Side) -> tuple[MessageId, ...]:
    shared = {message_id_of(commit) for commit in target.commits}
    messages = (message_id_of(commit) for commit in source.commits if not is_root(commit))
    return tuple(dict.fromkeys(each for each in messages if each not in shared))


def merged_state(
    objects: Objects,
    divergence: Divergence,
    disagreements: Iterable[Disagreement],
    conflicts: Iterable[Conflict],
) -> Oid | None:
    """Write the merged state; a key with an open conflict keeps the value of the target, and the conflict is recorded.

    `conflicts` are those of the disagreements, in the same order.
    """
    changes = merge_records(objects, divergence)
    conflicting: set[str] = set()
    directory = divergence.directory
    for disagreement, conflict in zip(disagreements, conflicts, strict=True):
        conflicting.add(comparable_key(disagreement.key, directory))
        if conflict.resolution is not None:
            changes |= apply_resolution(objects, disagreement, conflict.resolution)
        else:
            changes[conflict_path(conflict)] = encode_conflict(conflict)
    known = {CONFLICTS}  # groups that are merged already
    state = divergence.target.state
    if not any(group_of(key) == FILES for key in conflicting):
        with suppress(ValueError):  # of foreign states: path by path
            state = _merge_files(objects, divergence)
            known.add(FILES)
    for key, source_changes in divergence.source.changes.items():
        if group_of(key) in known or (conflicting and comparable_key(key, directory) in conflicting):
            continue
        changes |= _take_source(objects, divergence, key, source_changes)
    return update_tree(objects, state, changes) if changes else state


def _merge_files(objects: Objects, divergence: Divergence) -> Oid | None:
    """Return the state of the target with what the source did to files, given that no file has a conflict.

    Raises:
        ValueError: a name is that of a file and of a directory.
    """
    states = divergence.base_state, divergence.target.state, divergence.source.state
    found = [None if state is None else find_entry(objects, state, FILES) for state in states]
    if any(entry is not None and not entry.is_tree for entry in found):
        raise ValueError(FILES)
    base, target, source = (None if entry is None else entry.oid for entry in found)
    merged = take_changes(objects, base, target, source)
    return states[1] if merged == target else replace_subtree(objects, states[1], FILES, merged)
