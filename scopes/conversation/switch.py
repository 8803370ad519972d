"""`switch`: make another branch active."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.history.handles import StoreHandle
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
    handle = StoreHandle(repository).conversation(conversation)
    with exclusive_write(repository):
        name, previous = handle.branch(branch).name, handle.active_branch.name
        tx = Transaction(repository, handle.id)
        tx.activate(name)
        operation = tx.commit("switch", f"switch {handle.id} to {name}").id if tx else None
    return BranchSwitched(conversation=handle.id, branch=name, previous=previous, operation=operation)
