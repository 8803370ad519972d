"""The operations of a conversation, and their rows in the change log: branches, title, tags, conflicts, ..."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from scopes.conversation.causes import SAYS
from scopes.conversation.change import FieldChange, cause_of
from scopes.conversation.message_effects import States, status_before
from scopes.history.metadata import Metadata, read_metadata_at
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.records import open_conflicts_at
from scopes.model.conversation import BranchEntry
from scopes.model.merge_request import MergeRequest
from scopes.model.operation import Operation, RefChange
from scopes.store import refs
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository


class ConversationOperation(NamedTuple):
    """An operation, the conversation id after it and, if it renamed the conversation, the id before it."""

    record: Operation
    conversation: ConversationId
    old_id: ConversationId | None = None


def walk_conversation_operations(
    repository: Repository, conversation: ConversationId
) -> Iterator[ConversationOperation]:
    """Yield the operations of a conversation, newest first, back to the one that created it; follow renames.

    The operation log only records refs. A conversation is followed backwards by its id and the value of its metadata
    ref, because an id can be reused after a deletion.

    Raises:
        Corrupt, NotFound: a record of the log is damaged or missing.
    """
    name, meta = conversation, repository.find_ref(refs.meta_ref(conversation))
    deleted = False  # at that point of the log the conversation was in the trash, or undone
    for _, record in walk_operations(repository):
        change = next((c for c in record.changes if c.ref == refs.meta_ref(name)), None)
        if deleted:
            deleted = change is None or (change.old, change.new) != (meta, None)
            if not deleted:
                yield ConversationOperation(record, name)
        elif change is None:
            if any(_is_ref_of(each.ref, name) for each in record.changes):
                yield ConversationOperation(record, name)
        elif change.new is None:
            return  # an earlier conversation with the same id was deleted here
        elif change.old is not None:
            meta = change.old
            yield ConversationOperation(record, name)
        else:
            source = next((c.ref for c in record.changes if c.old == change.new and c.new is None), "")
            old_id = ConversationId(source.removeprefix(refs.META)) if source.startswith(refs.META) else None
            yield ConversationOperation(record, name, old_id)
            if old_id is not None:
                name = old_id
            elif source or record.undoes is not None:
                deleted = True
            else:
                meta = None


def _is_ref_of(ref: str, conversation: ConversationId) -> bool:
    return ref.startswith(f"{refs.HEADS}{conversation}/") or ref == refs.active_ref(conversation)


def moved_branches(record: Operation, conversation: ConversationId) -> dict[BranchName, RefChange]:
    """Return the branches of a conversation that an operation moved."""
    heads = f"{refs.HEADS}{conversation}/"
    return {BranchName(c.ref.removeprefix(heads)): c for c in record.changes if c.ref.startswith(heads)}


class Effective(NamedTuple):
    """The kind of an operation; of an undo or redo, that of the first operation, and whether that is taken back."""

    kind: str
    is_taken_back: bool = False


def find_effective(operations: Iterable[ConversationOperation]) -> Mapping[OperationId, Effective]:
    """Return what operations of a conversation do, by id; they are given oldest first."""
    found: dict[OperationId, Effective] = {}
    for record, *_ in operations:
        undone = None if record.undoes is None else found.get(record.undoes)
        found[record.id] = (
            Effective(record.kind) if undone is None else Effective(undone.kind, not undone.is_taken_back)
        )
    return found


def walk_operation_changes(
    repository: Repository, operation: ConversationOperation, effective: Effective, stated: Mapping[Oid, States]
) -> Iterator[FieldChange]:
    """Yield the changes of one operation, but not what messages say; the agent of a created branch is the cause.

    `stated` is what messages stated last about conflicts, as of each commit.
    """
    record, conversation, old_id = operation
    if old_id is not None:
        yield FieldChange("id", old_id, conversation)
        return
    meta = next((c for c in record.changes if c.ref == refs.meta_ref(conversation)), RefChange("", None, None))
    before, after = _read_metadata(repository, meta.old), _read_metadata(repository, meta.new)
    branches = moved_branches(record, conversation)
    cause = _find_agent(record, branches, after.branches)
    for change in _metadata_changes(before, after):
        yield change._replace(cause=cause)
    for name, move in branches.items():
        if record.kind in SAYS and record.undoes is None and move.old is not None:
            continue  # messages have rows of their own, however they were added
        yield _branch_change(record, name, move, after.branches.get(name))._replace(cause=cause)
    yield from _conflict_changes(repository, branches.values(), effective, stated)
    for moved in record.changes:
        if moved.ref == refs.active_ref(conversation):
            yield FieldChange("active_branch", _branch_in(moved.old), _branch_in(moved.new), cause=cause)


def _find_agent(
    record: Operation, changed: Iterable[BranchName], entries: Mapping[BranchName, BranchEntry]
) -> str | None:
    """Return the agent of a created branch as a cause; None for another operation."""
    agents = [entries[name].agent for name in changed if name in entries] if record.kind == "branch" else []
    return next((cause_of("agent", agent) for agent in agents if agent is not None), None)


def _branch_change(record: Operation, name: BranchName, change: RefChange, entry: BranchEntry | None) -> FieldChange:
    before = None if change.old is None else {"tip": change.old}
    after: dict[str, Any] | None = None if change.new is None else {"tip": change.new}
    if after is not None and change.old is None and entry is not None:
        facts = {"purpose": entry.purpose, "agent": entry.agent, "parent": entry.parent}
        after |= {key: value for key, value in facts.items() if value is not None}
    return FieldChange(f"branches.{name}", before, after, "MERGE" if record.kind == "merge" else None)


def _conflict_changes(
    repository: Repository, branches: Iterable[RefChange], effective: Effective, stated: Mapping[Oid, States]
) -> Iterator[FieldChange]:
    """Yield the conflicts that stopped a merge, rebase or cherry-pick, or that ended when it was aborted."""
    is_stop, is_abort = effective.kind.endswith("-conflict"), effective.kind.endswith("-abort")
    for change in branches if is_stop or is_abort else ():
        tip = change.new if is_stop != effective.is_taken_back else change.old
        for conflict in () if tip is None else open_conflicts_at(repository, Oid(tip)):
            path, details = f"conflicts.{conflict.id}", {"type": conflict.type, "key": conflict.key}
            known = status_before(stated.get(Oid(tip or ""), {}).get(path))
            is_open = {**details, "status": conflict.status} if is_stop else {**details, **known}
            states = (None, is_open) if is_stop else (is_open, {**details, "status": "aborted"})
            before, after = reversed(states) if effective.is_taken_back else states
            yield FieldChange(path, before, after)


def _metadata_changes(before: Metadata, after: Metadata) -> Iterator[FieldChange]:
    """Compare two versions of the metadata; the creation and deletion of branches are rows of their refs."""
    if before.title != after.title:
        yield FieldChange("title", before.title, after.title)
    for tag in sorted(before.tags.keys() | after.tags.keys()):
        if before.tags.get(tag) != after.tags.get(tag):
            yield FieldChange(f"tags.{tag}", before.tags.get(tag), after.tags.get(tag))
    for name in sorted(before.branches.keys() & after.branches.keys()):
        old, new = before.branches[name].status, after.branches[name].status
        if old != new:
            yield FieldChange(f"branches.{name}.status", old, new)
    for request in sorted(before.requests.keys() | after.requests.keys()):
        known, present = before.requests.get(request), after.requests.get(request)
        either = present or known
        if known != present and either is not None:
            yield FieldChange(f"merge_requests.{either.number}", _shown_request(known), _shown_request(present))
    for candidate in sorted(before.dismissed ^ after.dismissed):
        dismissed, was = ("dismissed" if candidate in each.dismissed else None for each in (after, before))
        yield FieldChange(f"decision_candidates.{candidate}", was, dismissed)


def _shown_request(request: MergeRequest | None) -> dict[str, Any] | None:
    if request is None:
        return None
    named = {"source": request.source, "target": request.target, "title": request.title, "reason": request.reason}
    return {"state": request.state, **{key: value for key, value in named.items() if value is not None}}


def _read_metadata(repository: Repository, value: str | None) -> Metadata:
    return Metadata() if value is None else read_metadata_at(repository, Oid(value))


def _branch_in(symbolic_value: str | None) -> BranchName | None:
    names = refs.split_branch_ref((symbolic_value or "").removeprefix(refs.SYMBOLIC))
    return names[1] if names is not None else None
