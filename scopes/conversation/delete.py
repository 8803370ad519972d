"""`delete` and `delete-branch`: move a conversation, or one branch, to the trash; `undo` restores it."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Refused
from scopes.history.revisions import MAIN, find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.result import Result
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDeleted(Result):
    """A conversation that was moved to the trash; with `dry_run` it would be, and `branch_names` are its branches."""

    conversation: ConversationId
    branches: int
    operation: OperationId | None
    dry_run: bool = False
    branch_names: tuple[BranchName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDeleted(Result):
    """A branch that was moved to the trash, and its last tip."""

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    operation: OperationId


def delete(repository: Repository, conversation: str, *, dry_run: bool = False) -> ConversationDeleted:
    """Move a conversation with all its branches and metadata to the trash; with `dry_run` change nothing."""
    if dry_run:
        found = find_conversation(repository, conversation)
        names = tuple(list_branch_tips(repository, found))
        return ConversationDeleted(
            conversation=found, branches=len(names), operation=None, dry_run=True, branch_names=names
        )
    with exclusive_write(repository):
        conversation_id = find_conversation(repository, conversation)  # under the lock
        tips = list_branch_tips(repository, conversation_id)
        tx = Transaction(repository, conversation_id)
        for branch in tips:
            tx.trash_branch(branch)
        tx.trash_metadata()
        tx.deactivate()
        operation = tx.commit("delete", f"delete {conversation_id}")
    return ConversationDeleted(conversation=conversation_id, branches=len(tips), operation=operation.id)


def delete_branch(repository: Repository, conversation: str, branch: str, *, force: bool = False) -> BranchDeleted:
    """Move a branch to the trash.

    Raises:
        Refused: it is main or the active branch, or has messages of its own and `force` is not given (S4-7).
    """
    conversation_id = find_conversation(repository, conversation)
    with exclusive_write(repository):
        name = find_branch(repository, conversation_id, branch)
        tips = list_branch_tips(repository, conversation_id)
        _check_deletable(repository, conversation_id, name, tips, force=force)
        tx = Transaction(repository, conversation_id)
        tx.trash_branch(name)
        tx.describe_branch(name, None)
        operation = tx.commit("delete-branch", f"delete {conversation_id}/{name}", metadata_message=f"delete {name}")
    return BranchDeleted(conversation=conversation_id, branch=name, tip=tips[name], operation=operation.id)


def _check_deletable(
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
            hint="delete it anyway with --force; undo restores it",
        )
