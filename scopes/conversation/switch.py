"""`switch`: make another branch active."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.history.revisions import find_active_branch, find_branch, find_conversation
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSwitched(Result):
    """The active branch and the previously active one; `operation` is None if they are the same."""

    conversation: ConversationId
    branch: BranchName
    previous: BranchName
    operation: OperationId | None


def switch(repository: Repository, conversation: str, branch: str) -> BranchSwitched:
    """Make a branch active: commands without a branch name then use it.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved.
    """
    conversation_id = find_conversation(repository, conversation)
    with exclusive_write(repository):
        branch_name = find_branch(repository, conversation_id, branch)
        previous = find_active_branch(repository, conversation_id)
        tx = Transaction(repository, conversation_id)
        tx.activate(branch_name)
        operation = tx.commit("switch", f"switch {conversation_id} to {branch_name}").id if tx else None
    return BranchSwitched(conversation=conversation_id, branch=branch_name, previous=previous, operation=operation)
