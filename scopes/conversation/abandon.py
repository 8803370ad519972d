"""`abandon`: hide a branch from lists and keep its history (S4-8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.errors import Refused
from scopes.history.metadata import branch_change, read_metadata, write_metadata
from scopes.history.operation_record import active_change, record_operation
from scopes.history.revparse import MAIN, find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.model.conversation import BranchEntry
from scopes.model.operation import RefChange
from scopes.result import Result
from scopes.store.refs import meta_ref
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchAbandoned(Result):
    """A branch whose status changed; `status` is what it is now."""

    conversation: ConversationId
    branch: BranchName
    status: str
    active_branch: BranchName
    operation: OperationId | None


def abandon(repository: Repository, conversation: str, branch: str, *, revive: bool = False) -> BranchAbandoned:
    """Mark a branch as abandoned, or as active again; an abandoned active branch gives way to main.

    Raises:
        Refused: the branch is main.
    """
    chosen = find_conversation(repository, conversation)
    status = "active" if revive else "abandoned"
    with exclusive_write(repository):
        name = find_branch(repository, chosen, branch)
        if name == MAIN:
            raise Refused("the branch main cannot be abandoned", hint="or delete it all: scopes conv delete")
        before = read_metadata(repository, chosen)
        entry = before.branches.get(name, BranchEntry())
        active = find_active_branch(repository, chosen)
        operation = None
        if entry.status != status:
            described = branch_change(name, replace(entry, status=status))
            commit = write_metadata(repository, before.commit, described, f"{status} {name}")
            changes = [RefChange(meta_ref(chosen), before.commit, commit)]
            if active == name and not revive and MAIN in list_branch_tips(repository, chosen):
                changes.append(active_change(repository, chosen, MAIN))
                active = MAIN
            verb = "revive" if revive else "abandon"
            operation = record_operation(repository, "abandon", f"{verb} {chosen}/{name}", changes).id
    return BranchAbandoned(conversation=chosen, branch=name, status=status, active_branch=active, operation=operation)
