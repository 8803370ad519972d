"""`abandon`: hide a branch from lists but keep its history (S4-8)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from shlex import quote

from scopes.errors import Refused
from scopes.history.handles import StoreHandle
from scopes.history.revisions import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId
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
    handle = StoreHandle(repository).conversation(conversation)
    status = "active" if revive else "abandoned"
    with exclusive_write(repository):
        target = handle.branch(branch)
        if target.name == MAIN:
            hint = f"delete the whole conversation instead: scopes delete {quote(handle.id)}"
            raise Refused("the branch main cannot be abandoned", hint=hint)
        entry = target.entry
        active = handle.active_branch.name
        operation = None
        if entry.status != status:
            tx = Transaction(repository, handle.id)
            tx.set_branch_entry(target.name, replace(entry, status=status))
            if active == target.name and not revive and MAIN in handle.tips:
                tx.activate(MAIN)
                active = MAIN
            verb = "revive" if revive else "abandon"
            operation = tx.commit("abandon", f"{verb} {target}", metadata_message=f"{status} {target.name}").id
    return BranchAbandoned(
        conversation=handle.id, branch=target.name, status=status, active_branch=active, operation=operation
    )
