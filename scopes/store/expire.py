"""Delete trash and operation records before a cutoff; the only code that makes stored data unreachable."""

from __future__ import annotations

from scopes.clock import new_id, now, parse_time
from scopes.ids import Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.store import refs
from scopes.store.git_program import run_git
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import commit_operation, write_operation


def expire(repository: Repository, cutoff_nanoseconds: int) -> tuple[int, int]:
    """Delete operations before the cutoff and their trash; return the number of operations and of trash refs.

    The operation log is rewritten without them. A trash ref is deleted only if no remaining operation refers to it.
    This is atomic like an operation, but it is not recorded in the log and cannot be undone. Call it under the
    exclusive lock.
    """
    old_tip = repository.raw_ref(refs.OPERATIONS)
    if old_tip is None:
        return 0, 0  # without the log it is unknown which trash belongs to which operation
    log = [operation for _, operation in walk_operations(repository)]
    kept = [o for o in log if (parse_time(o.time) or 0) >= cutoff_nanoseconds]
    referenced = {change.ref for operation in kept for change in operation.changes}
    trash = [RefChange(r, value, None) for r, value in repository.list_refs(refs.TRASH).items() if r not in referenced]
    expired = len(log) - len(kept)
    if expired or trash:
        tip = _write_log(repository, kept) if expired else old_tip
        _apply(repository, [RefChange(refs.OPERATIONS, old_tip, tip), *trash])
    return expired, len(trash)


def _write_log(repository: Repository, newest_first: list[Operation]) -> Oid | None:
    tip: Oid | None = None
    for operation in reversed(newest_first):
        tip = write_operation(repository, operation, tip)
    return tip


def _apply(repository: Repository, changes: list[RefChange]) -> None:
    operation = Operation(
        id=OperationId(new_id()),
        kind="expire",
        summary="expire operations and trash",
        command=repository.caller.command,
        actor=repository.caller.actor,
        time=now(),
        changes=tuple(changes),
    )
    commit_operation(repository, operation)
    if repository.raw_ref(refs.OPERATIONS) is not None:
        # The reflog still has the old tips of the log, which reach everything that was expired.
        expiry = ("reflog", "expire", "--expire=all", refs.OPERATIONS)
        run_git(repository.path, *expiry, lock=repository.lock.descriptor)
