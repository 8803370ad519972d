"""Find the conflicts that left no record in the state of a branch: their merge or replay resolved or aborted them.

A merge that resolved conflicts by itself names them in its message. A rebase or cherry-pick has them in its operation.
The operations of `--abort`, of `--skip` and of deleting a conflict-resolution branch keep its former tip, with the
records of the conflicts that were open there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from scopes.clock import known_seconds
from scopes.history.messages import read_body
from scopes.history.recorded_times import RecordedTimes
from scopes.history.revisions import find_directory, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.attribution import describe
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import find_divergence
from scopes.merge.in_progress import PURPOSE, InProgress, holding, with_sides
from scopes.merge.records import keep_resolutions, list_conflicts_at, open_conflicts_at
from scopes.model.conflicts import Conflict, conflict_of, decode_resolution
from scopes.model.operation import Operation
from scopes.store import refs
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository

DETAIL = "conflicts"
"""The key of an operation's details that has the conflicts which a replay resolved by itself."""
_ABORTED = "-abort"
_RENAMING = frozenset({"rename", "undo", "redo"})
_DROPPING = frozenset({"rebase-conflict", "cherry-pick-conflict", "delete-branch"})
_EndedConflict: TypeAlias = tuple[InProgress, Conflict]


class _BranchMove(NamedTuple):
    """An operation that moved, made or deleted a branch, and may have ended conflicts."""

    operation: Operation
    branch: BranchName
    old: Oid | None
    new: Oid | None


class EndedConflicts:
    """The conflicts of a store that have no record on a branch; the operation log is read once, at the first use."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._resolutions: dict[ConversationId, Mapping[str, Sequence[_EndedConflict]]] = {}

    def walk(self, conversation: ConversationId, seen: set[str]) -> Iterator[_EndedConflict]:
        """Yield those of a conversation; ids in `seen` are left out.

        First each resolution that merges and replays made by themselves, then the newest ending of each conflict that
        was aborted only. The branch of an aborted one may no longer exist.
        """
        resolved = self.resolutions(conversation)
        for identity, found in resolved.items():
            if identity not in seen:
                yield from found
        aborted: dict[str, _EndedConflict] = {}
        for each in _walk_moves(self._repository, conversation, self._moves.get(conversation, ())):
            if each[1].id not in seen and each[1].id not in resolved:
                known = aborted.setdefault(each[1].id, each)
                aborted[each[1].id] = known if each[1].resolution is None else each
        yield from aborted.values()

    def resolutions(self, conversation: ConversationId) -> Mapping[str, Sequence[_EndedConflict]]:
        """Return, by conflict id, each resolution that a merge or a replay made by itself.

        First those of merges in the history of a branch, one for each merge, then those of replays, which are in the
        operation log, newest first; equal ones of replays count once, because each continued replay repeats them. The
        first one of a conflict has the others in `also`.
        """
        if conversation not in self._resolutions:
            found: dict[str, list[_EndedConflict]] = {}
            for each in _walk_merges(self._repository, conversation):
                found.setdefault(each[1].id, []).append(each)
            for each in _walk_moves(self._repository, conversation, self._moves.get(conversation, ())):
                listed = found.setdefault(each[1].id, [])
                if each[1].status != "aborted" and all(each[1].resolution != other.resolution for _, other in listed):
                    listed.append(each)
            self._resolutions[conversation] = {
                identity: _with_others(listed) for identity, listed in found.items() if listed
            }
        return self._resolutions[conversation]

    @cached_property
    def _moves(self) -> Mapping[ConversationId, Sequence[_BranchMove]]:
        found: dict[ConversationId, list[_BranchMove]] = {}
        present: dict[ConversationId, ConversationId] = {}  # names of now, by names before the operations read so far
        for _, operation in walk_operations(self._repository):
            present.update((old, present.get(new, new)) for old, new in _renamed_conversations(operation))
            if operation.kind.endswith(_ABORTED) or operation.kind in _DROPPING or DETAIL in operation.details:
                for change in operation.changes:
                    pair = refs.split_branch_ref(change.ref)
                    if pair is not None:
                        old, new = (None if value is None else Oid(value) for value in (change.old, change.new))
                        conversation = present.get(pair[0], pair[0])
                        found.setdefault(conversation, []).append(_BranchMove(operation, pair[1], old, new))
        return found


def _with_others(found: Sequence[_EndedConflict]) -> Sequence[_EndedConflict]:
    """Return the resolutions of one conflict; the first one has the others in `also`."""
    (in_progress, first), *others = found
    return [(in_progress, keep_resolutions(first, [record for _, record in others])), *others]


def _renamed_conversations(operation: Operation) -> set[tuple[ConversationId, ConversationId]]:
    """Return the old and the new name of a conversation that an operation renamed."""
    if operation.kind not in _RENAMING:
        return set()
    pairs = [(refs.split_branch_ref(change.ref), change) for change in operation.changes]
    created = {(pair[1], change.new): pair[0] for pair, change in pairs if pair is not None and change.old is None}
    return {
        (pair[0], new)
        for pair, change in pairs
        if pair is not None and change.new is None
        for new in filter(None, [created.get((pair[1], change.old))])
        if new != pair[0]
    }


def _walk_merges(repository: Repository, conversation: ConversationId) -> Iterator[_EndedConflict]:
    tips = list_branch_tips(repository, conversation)
    walked = set[Oid]()
    times = RecordedTimes(repository)
    for name in sorted(tips, key=lambda name: (name != "main", name.startswith(f"{PURPOSE}/"), name)):
        for commit in walk_newest_first(repository, [tips[name]], walked):
            walked.add(commit.oid)
            records = _resolved_by_merge(repository, conversation, commit) if commit.kind == "merge" else []
            if records:
                held = holding(repository, conversation, name, tips[name])
                ended = replace(
                    held,
                    target=with_sides(repository, held, tips).target,
                    source=_source_of(repository, commit, name, tips) or times.find_source(commit),
                    target_tip=commit.parents[0],
                    source_tip=commit.parents[1],
                )
                ended = _at_time(ended, known_seconds(commit.time) or ended.entry.created)
                ended = replace(ended, recorded_at=times.find_text(commit))
                yield from ((ended, record) for record in records)


def _source_of(repository: Repository, commit: Commit, target: BranchName, tips: Mapping[BranchName, Oid]) -> str:
    """Return the branch that a merge commit merged; empty if it was deleted."""
    source = commit.parents[1]
    others = {name: tip for name, tip in tips.items() if name != target}
    exact = [name for name, tip in others.items() if tip == source]
    grown = (name for name, tip in others.items() if is_ancestor(repository, source, tip))
    return exact[0] if exact else next((n for n in grown if not is_ancestor(repository, commit.oid, others[n])), "")


def _walk_moves(
    repository: Repository, conversation: ConversationId, moves: Iterable[_BranchMove]
) -> Iterator[_EndedConflict]:
    branches = list_branch_tips(repository, conversation)
    for operation, branch, old, new in moves:
        for record in _dropped_records(repository, operation, branch, old, new):
            ended = _at_time(holding(repository, conversation, branch, old or Oid("")), operation.time)
            yield with_sides(repository, ended, branches), replace(record, status="aborted")
        documents = operation.details.get(DETAIL)
        records = map(conflict_of, documents if new is not None and isinstance(documents, list) else ())
        for found in records:
            if found is not None:
                yield _at_time(holding(repository, conversation, branch, new or Oid("")), operation.time), found


def _dropped_records(
    repository: Repository, operation: Operation, branch: BranchName, old: Oid | None, new: Oid | None
) -> Iterable[Conflict]:
    """Return the records that an operation took off their branch: by --abort, by --skip, or with the branch."""
    if old is None or not repository.has(old):
        return ()
    if operation.kind.endswith(_ABORTED):
        return list_conflicts_at(repository, old).values() if new is None else ()
    if operation.kind not in _DROPPING or not branch.startswith(f"{PURPOSE}/"):
        return ()
    return open_conflicts_at(repository, old)  # a replay that goes on has resolved what it stopped at, or skips it


def _at_time(in_progress: InProgress, time: str) -> InProgress:
    return replace(in_progress, entry=replace(in_progress.entry, created=time))


def _resolved_by_merge(repository: Repository, conversation: ConversationId, commit: Commit) -> list[Conflict]:
    """Return the conflicts that a merge resolved by itself, from its message; both sides are computed again."""
    match read_body(repository, commit).extra.get("merge"):
        case {"resolved": list(documents)} if len(commit.parents) == 2:
            target, source = commit.parents
            directory = find_directory(repository, conversation)
            divergence = find_divergence(repository, repository, target, source, directory=directory, unrelated=True)
            if divergence is None:
                return []
            found = describe(repository, divergence, find_disagreements(repository, divergence))
            conflicts = {conflict.id: conflict for conflict in found}
            return [
                replace(conflicts[identity], status="resolved", resolution=decode_resolution(document))
                for document in documents
                if isinstance(document, dict)
                and isinstance(identity := document.get("id"), str)
                and identity in conflicts
            ]
    return []
