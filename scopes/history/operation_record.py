"""Making an operation: the record that undo needs, with the caller's name and command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scopes.clock import new_id, now
from scopes.ids import BranchName, ConversationId, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.store import refs
from scopes.store.repository import Repository
from scopes.store.transaction import commit_operation

_LONGEST_COMMAND = 2000


def new_operation_id() -> OperationId:
    """Return a fresh operation id."""
    return OperationId(new_id())


def record_operation(
    repository: Repository,
    kind: str,
    summary: str,
    changes: Iterable[RefChange],
    *,
    operation_id: OperationId | None = None,
    undoes: OperationId | None = None,
    details: Mapping[str, Any] | None = None,
) -> Operation:
    """Commit an operation; call it inside `writing`, when all its objects are written.

    Raises:
        Busy, Invalid, Inaccessible: nothing has happened.
    """
    operation = Operation(
        id=operation_id or new_operation_id(),
        kind=kind,
        summary=summary,
        command=repository.caller.command[:_LONGEST_COMMAND],
        actor=repository.caller.actor,
        time=now(),
        changes=tuple(change for change in changes if change.old != change.new),
        undoes=undoes,
        details=details or {},
    )
    commit_operation(repository, operation)
    return operation


def active_change(repository: Repository, conversation: ConversationId, branch: BranchName) -> RefChange:
    """Return the ref change that makes a branch the active one."""
    active = refs.active_ref(conversation)
    return RefChange(active, repository.find_ref(active), refs.SYMBOLIC + refs.branch_ref(conversation, branch))
