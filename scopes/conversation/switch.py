"""`switch`: make another branch the active one."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.history.revparse import find_active_branch, find_branch, find_conversation
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSwitched(Result):
    """Which branch is active now; `operation` is None when it was so already."""

    conversation: ConversationId
    branch: BranchName
    previous: BranchName
    operation: OperationId | None


def switch(repository: Repository, conversation: str, branch: str) -> BranchSwitched:
    """Make a branch the active one, where appends go that name no branch.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch.
    """
    chosen = find_conversation(repository, conversation)
    with exclusive_write(repository):
        wanted = find_branch(repository, chosen, branch)
        previous = find_active_branch(repository, chosen)
        tx = Transaction(repository, chosen)
        tx.activate(wanted)
        operation = tx.commit("switch", f"switch {chosen} to {wanted}").id if tx else None
    return BranchSwitched(conversation=chosen, branch=wanted, previous=previous, operation=operation)
