"""`delete` and `delete-branch`: move a conversation, or one branch, to the trash; `undo` brings it back."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Refused
from scopes.history.revparse import MAIN, find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.result import Result
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
        tips = list_branch_tips(repository, chosen)
        tx = Transaction(repository, chosen)
        for branch in tips:
            tx.trash_branch(branch)
        tx.trash_metadata()
        tx.deactivate()
        operation = tx.commit("delete", f"delete {chosen}")
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
        tx = Transaction(repository, chosen)
        tx.trash_branch(name)
        tx.describe_branch(name, None)
        operation = tx.commit("delete-branch", f"delete {chosen}/{name}", metadata_message=f"delete {name}")
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
