"""Find the conflicts that left no record in the state of a branch: their merge or replay resolved or aborted them.

A merge that resolved conflicts by itself names them in its message. A rebase or cherry-pick has them in its operation,
and the operation of an `--abort` keeps the deleted branch with its records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from scopes.history.messages import KIND_TRAILER, read_message
from scopes.history.revisions import find_directory, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.attribution import describe
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import find_divergence
from scopes.merge.in_progress import InProgress, holding, with_sides
from scopes.merge.records import list_conflicts_at
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
_Held: TypeAlias = tuple[InProgress, Conflict]


def walk_ended(repository: Repository, conversation: ConversationId, seen: set[str]) -> Iterator[_Held]:
    """Yield the conflicts without a record on a branch, each once; ids in `seen` are left out.

    First those that merges in the history of a branch resolved by themselves, then those in the operation log, the
    newest first. The branch of an aborted one no longer exists.
    """
    known = set(seen)
    for source in (_walk_merges, _walk_operations):
        for in_progress, record in source(repository, conversation):
            if record.id not in known:
                known.add(record.id)
                yield in_progress, record


def _walk_merges(repository: Repository, conversation: ConversationId) -> Iterator[_Held]:
    tips = list_branch_tips(repository, conversation)
    walked = set[Oid]()
    for name in sorted(tips, key=lambda name: (name != "main", name)):
        for commit in walk_newest_first(repository, [tips[name]], walked):
            walked.add(commit.oid)
            records = (
                _resolved_by_merge(repository, conversation, commit)
                if commit.trailers.get(KIND_TRAILER) == "merge"
                else []
            )
            if records:
                held = holding(repository, conversation, name, tips[name])
                source = _source_of(repository, commit, name, tips)
                held = replace(held, source=source, target_tip=commit.parents[0], source_tip=commit.parents[1])
                yield from ((held, record) for record in records)


def _source_of(repository: Repository, commit: Commit, target: BranchName, tips: Mapping[BranchName, Oid]) -> str:
    """Return the branch that a merge commit merged; empty if it was deleted."""
    source = commit.parents[1]
    others = {name: tip for name, tip in tips.items() if name != target}
    exact = [name for name, tip in others.items() if tip == source]
    grown = (name for name, tip in others.items() if is_ancestor(repository, source, tip))
    return exact[0] if exact else next((n for n in grown if not is_ancestor(repository, commit.oid, others[n])), "")


def _walk_operations(repository: Repository, conversation: ConversationId) -> Iterator[_Held]:
    branches = list_branch_tips(repository, conversation)
    for _, operation in walk_operations(repository):
        for branch, old, new in _moved_branches(operation, conversation):
            if operation.kind.endswith(_ABORTED) and old is not None and new is None:
                for record in list_conflicts_at(repository, old).values():
                    held = with_sides(_held(repository, operation, conversation, branch, old), branches)
                    yield held, replace(record, status="abandoned")
            documents = operation.details.get(DETAIL)
            records = map(conflict_of, documents if new is not None and isinstance(documents, list) else ())
            yield from (
                (_held(repository, operation, conversation, branch, new or Oid("")), record)
                for record in records
                if record is not None
            )


def _moved_branches(
    operation: Operation, conversation: ConversationId
) -> Iterator[tuple[BranchName, Oid | None, Oid | None]]:
    """Yield name, old and new tip of each branch of a conversation that an operation moved."""
    for change in operation.changes:
        pair = refs.split_branch_ref(change.ref)
        if pair is not None and pair[0] == conversation:
            old, new = (None if value is None else Oid(value) for value in (change.old, change.new))
            yield pair[1], old, new


def _held(
    repository: Repository, operation: Operation, conversation: ConversationId, branch: BranchName, tip: Oid
) -> InProgress:
    held = holding(repository, conversation, branch, tip)
    return replace(held, entry=replace(held.entry, created=operation.time))


def _resolved_by_merge(repository: Repository, conversation: ConversationId, commit: Commit) -> list[Conflict]:
    """Return the conflicts that a merge resolved by itself, from its message; both sides are computed again."""
    match read_message(repository, commit.oid).extra.get("merge"):
        case {"resolved": list(documents)} if len(commit.parents) == 2:
            target, source = commit.parents
            divergence = find_divergence(repository, repository, target, source, unrelated=True)
            if divergence is None:
                return []
            divergence = replace(divergence, directory=find_directory(repository, conversation))
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
