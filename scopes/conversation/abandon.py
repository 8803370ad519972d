"""`abandon`: hide a branch from lists but keep its history (S4-8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.errors import Refused
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.model.conversation import BranchEntry
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchAbandoned(Result):
    """The new status of a branch; `operation` is None if it did not change."""

    conversation: ConversationId
    branch: BranchName
    status: str
    active_branch: BranchName
    operation: OperationId | None


def abandon(repository: Repository, conversation: str, branch: str, *, revive: bool = False) -> BranchAbandoned:
    """Mark a branch as abandoned, or with `revive` as active; if the active branch is abandoned, main becomes active.

    Raises:
        Refused: the branch is main.
    """
    conversation_id = find_conversation(repository, conversation)
    status = "active" if revive else "abandoned"
    with exclusive_write(repository):
        name = find_branch(repository, conversation_id, branch)
        if name == MAIN:
            raise Refused(
                "the branch main cannot be abandoned", hint="delete the whole conversation instead: scopes conv delete"
            )
        entry = read_metadata(repository, conversation_id).branches.get(name, BranchEntry())
        active = find_active_branch(repository, conversation_id)
        operation = None
        if entry.status != status:
            tx = Transaction(repository, conversation_id)
            tx.describe_branch(name, replace(entry, status=status))
            if active == name and not revive and MAIN in list_branch_tips(repository, conversation_id):
                tx.activate(MAIN)
                active = MAIN
            verb = "revive" if revive else "abandon"
            operation = tx.commit("abandon", f"{verb} {conversation_id}/{name}", metadata_message=f"{status} {name}").id
    return BranchAbandoned(
        conversation=conversation_id, branch=name, status=status, active_branch=active, operation=operation
    )
