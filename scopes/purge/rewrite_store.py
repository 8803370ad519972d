"""Rewrite all commits reachable from refs and operations of a store, and plan the ref changes; no ref is moved here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from scopes.history.messages import is_root
from scopes.history.sources import SUBJECT as PATHS
from scopes.history.sources import Purged
from scopes.ids import ConversationId, Oid
from scopes.model.operation import RefChange
from scopes.purge.all_commits import is_history, list_operations, walk_all_commits, walk_known
from scopes.purge.ids_that_stay import drop_ids_that_stay
from scopes.purge.purged_metadata import list_metadata
from scopes.purge.rewrite_history import HistoryRewriter
from scopes.purge.rewrite_operations import OperationRewriter
from scopes.purge.rewrite_records import RecordRewriter
from scopes.store import refs
from scopes.store.objects import Commit, Objects
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class RewrittenStore:
    """The result of rewriting a store without purged content.

    changes: the changes of refs; those of purged conversations are deleted
    histories: the rewriter of histories, with what it found
    operations: the rewriter of the operation log
    kept: all commits that are reachable afterwards
    conversations: the purged conversations
    own: the conversations with a purged message
    changed: files of other records that are removed or lose a text: memory entries, facts, merge requests
    blanked: how many records are removed that are not messages, by the commit of the stored transcript
    """

    changes: tuple[RefChange, ...]
    histories: HistoryRewriter
    operations: OperationRewriter
    kept: frozenset[Oid]
    conversations: tuple[ConversationId, ...]
    own: frozenset[ConversationId]
    changed: frozenset[Oid]
    blanked: Mapping[Oid, int]


def rewrite_store(
    repository: Repository, objects: Objects, purged: Purged, on_progress: Callable[[int], None] = lambda _: None
) -> RewrittenStore:
    """Rewrite all commits of a store that have purged content, or a rewritten commit in their history.

    Raises:
        Corrupt, NotFound: an object is damaged or missing.
    """
    values = repository.list_refs()
    tips = [Oid(value) for value in values.values() if not value.startswith(refs.SYMBOLIC)]
    histories = HistoryRewriter(objects, purged)
    records = RecordRewriter(objects, histories, purged)
    operations = OperationRewriter(objects, histories, records)
    newest = values.get(refs.OPERATIONS)
    log = list_operations(objects, None if newest is None else Oid(newest))
    others: list[tuple[Commit, bytes]] = []
    everything: list[Commit] = []
    for number, (commit, data) in enumerate(walk_all_commits(objects, tips)):
        on_progress(number)
        everything.append(commit)
        if commit.oid in log or not is_history(commit):
            others.append((commit, data))
        else:
            histories.rewrite(commit, data)
    histories.finish()
    drop_ids_that_stay(objects, histories, everything, log)
    entries = [each for each, _ in others if each.oid in log]
    written = [each for each, _ in others if each.oid not in log]
    if histories.roots:
        operations.note_names(entries, written, values)
    own = _list_own(values, histories.commits)
    records.subject_without = operations.names.subject_without
    if histories.commits or purged.conversations:  # among these are records of transcripts that became no message
        records.metadata = list_metadata(values, histories.commits, [each for each, _ in others])
        records.own = _list_records(values, own, histories.commits, written)
        records.own_roots = _list_roots(everything, histories.commits)
        for commit, data in sorted(others, key=lambda other: _rank(other[0], log)):
            (operations if commit.oid in log else records).rewrite(commit, data)
    commits = histories.commits
    kept = frozenset(new for each in everything if (new := commits.get(each.oid, each.oid)) is not None)
    changes = _list_changes(values, commits)
    removed = {refs.conversation_of(each.ref) for each in changes if each.new is None}
    left = {refs.conversation_of(ref) for ref in values} - {
        refs.conversation_of(each.ref) for each in changes if each.new is None and each.ref.startswith(refs.HEADS)
    }
    gone = sorted(name for name in removed - left if name is not None)
    return RewrittenStore(
        changes, histories, operations, kept, tuple(gone), own, frozenset(records.changed), records.blanked
    )


def _list_own(values: Mapping[str, str], commits: Collection[Oid]) -> frozenset[ConversationId]:
    """Return the conversations with a rewritten branch."""
    moved = (refs.conversation_of(ref) for ref, value in values.items() if "/heads/" in ref and Oid(value) in commits)
    return frozenset(name for name in moved if name is not None)


def _list_roots(commits: Iterable[Commit], rewritten: Collection[Oid]) -> frozenset[Oid]:
    """Return the roots of the histories with a rewritten commit, also of one that no branch reaches."""
    roots: dict[Oid, Oid] = {}
    for commit in commits:
        root = commit.oid if is_root(commit) else next((roots[each] for each in commit.parents if each in roots), None)
        if root is not None:
            roots[commit.oid] = root
    return frozenset(roots[oid] for oid in rewritten if oid in roots)


def _list_records(
    values: Mapping[str, str],
    own: Collection[ConversationId],
    commits: Collection[Oid],
    others: Iterable[Commit],
) -> frozenset[Oid]:
    """Return the metadata commits of these conversations, and the manifests whose branches are rewritten."""
    parents = {each.oid: each.parents for each in others}
    tips = [Oid(value) for ref, value in values.items() if refs.conversation_of(ref) in own]
    tips += [oid for oid, found in parents.items() if any(parent in commits for parent in found)]
    return frozenset(walk_known(tips, parents))


def _rank(commit: Commit, log: Collection[Oid]) -> int:
    """Return the sort key for rewriting: paths of sources after sources, operations after the commits they name."""
    return 2 if commit.oid in log else 1 if commit.subject == PATHS else 0


def _list_changes(values: Mapping[str, str], commits: Mapping[Oid, Oid | None]) -> tuple[RefChange, ...]:
    """Return the changes of all refs; a symbolic ref is deleted with its target."""
    new: dict[str, str | None] = {}
    for ref, value in values.items():
        new[ref] = value if value.startswith(refs.SYMBOLIC) else commits.get(Oid(value), Oid(value))
    for ref, value in values.items():
        if value.startswith(refs.SYMBOLIC) and new.get(value.removeprefix(refs.SYMBOLIC), "") is None:
            new[ref] = None
    return tuple(RefChange(ref, value, new[ref]) for ref, value in values.items() if new[ref] != value)
