"""`delete` and `delete-branch`: move a conversation, or one branch, to the trash; `undo` brings it back."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Refused
from scopes.history.metadata import branch_change, read_metadata, write_metadata
from scopes.history.operation_record import new_operation_id, record_operation
from scopes.history.revparse import MAIN, find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.model.operation import RefChange
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDeleted(Result):
    """A conversation that is in the trash."""

    conversation: ConversationId
    branches: int
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDeleted(Result):
    """A branch that is in the trash, with the tip that it had."""

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    operation: OperationId


def delete(repository: Repository, conversation: str) -> ConversationDeleted:
    """Move a conversation with all its branches and metadata to the trash."""
    with exclusive_write(repository):
        chosen = find_conversation(repository, conversation)  # it may have gone while we waited
        identity = new_operation_id()
        tips = list_branch_tips(repository, chosen)
        refs = [names.branch_ref(chosen, branch) for branch in tips] + [names.meta_ref(chosen)]
        changes = [change for ref in refs for change in to_trash(repository, chosen, ref, identity)]
        active = names.active_ref(chosen)
        changes.append(RefChange(active, repository.find_ref(active), None))
        operation = record_operation(repository, "delete", f"delete {chosen}", changes, operation_id=identity)
    return ConversationDeleted(conversation=chosen, branches=len(tips), operation=operation.id)


def delete_branch(repository: Repository, conversation: str, branch: str, *, force: bool = False) -> BranchDeleted:
    """Move a branch to the trash.

    Raises:
        Refused: it is main, or active, or no other branch holds its messages and `force` is not given (S4-7).
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        name = find_branch(repository, chosen, branch)
        tips = list_branch_tips(repository, chosen)
        _refuse_deletion(repository, chosen, name, tips, force=force)
        identity = new_operation_id()
        before = read_metadata(repository, chosen)
        commit = write_metadata(repository, before.commit, branch_change(name, None), f"delete {name}")
        changes = to_trash(repository, chosen, names.branch_ref(chosen, name), identity)
        changes.append(RefChange(names.meta_ref(chosen), before.commit, commit))
        operation = record_operation(
            repository, "delete-branch", f"delete {chosen}/{name}", changes, operation_id=identity
        )
    return BranchDeleted(conversation=chosen, branch=name, tip=tips[name], operation=operation.id)


def _refuse_deletion(
    repository: Repository, conversation: ConversationId, name: BranchName, tips: dict[BranchName, Oid], *, force: bool
) -> None:
    if name == MAIN:
        raise Refused(
            "the branch main cannot be deleted", hint=f"delete the conversation: scopes conv delete {conversation}"
        )
    if name == find_active_branch(repository, conversation):
        raise Refused(f"{name} is the active branch", hint=f"first: scopes conv switch {conversation} main")
    others = [tip for branch, tip in tips.items() if branch != name]
    if not force and not any(is_ancestor(repository, tips[name], other) for other in others):
        raise Refused(
            f"{name} has messages that no other branch has",
            hint="delete it all the same with --force; undo brings it back",
        )


def to_trash(repository: Repository, conversation: ConversationId, ref: str, operation: OperationId) -> list[RefChange]:
    """Return the changes that move a ref to the trash; none where it does not exist."""
    value = repository.find_ref(ref)
    if value is None:
        return []
    return [RefChange(ref, value, None), RefChange(names.trash_ref(conversation, operation, ref), None, value)]
