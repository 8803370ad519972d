"""Letting go: the trash and the operation log before a moment. The only place where something stops being reachable."""

from __future__ import annotations

from scopes.clock import new_id, now, parse_time
from scopes.ids import Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.store import refs as names
from scopes.store.git_program import run_git
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository
from scopes.store.transaction import commit_operation, write_operation


def expire(repository: Repository, cutoff_nanoseconds: int) -> tuple[int, int]:
    """Forget operations before the cutoff and the trash that they made; returns how many of each.

    The log is written anew without them, and a trash ref goes only when no operation that stays knows it. All of it
    happens at once, as an operation does, but the log has no record of it: it cannot be undone. Call it under the
    exclusive lock.
    """
    old_tip = repository.raw_ref(names.OPERATIONS)
    if old_tip is None:
        return 0, 0  # without the log nobody knows what the trash is
    log = [operation for _, operation in walk_operations(repository)]
    kept = [o for o in log if (parse_time(o.time) or 0) >= cutoff_nanoseconds]
    known = {change.ref for operation in kept for change in operation.changes}
    trash = [RefChange(r, value, None) for r, value in repository.list_refs(names.TRASH).items() if r not in known]
    forgotten = len(log) - len(kept)
    if forgotten or trash:
        tip = _write_log(repository, kept) if forgotten else old_tip
        _let_go(repository, [RefChange(names.OPERATIONS, old_tip, tip), *trash])
    return forgotten, len(trash)


def _write_log(repository: Repository, newest_first: list[Operation]) -> Oid | None:
    tip: Oid | None = None
    for operation in reversed(newest_first):
        tip = write_operation(repository, operation, tip)
    return tip


def _let_go(repository: Repository, changes: list[RefChange]) -> None:
    letting_go = Operation(
        id=OperationId(new_id()),
        kind="expire",
        summary="let go of old operations and trash",
        command=repository.caller.command,
        actor=repository.caller.actor,
        time=now(),
        changes=tuple(changes),
    )
    commit_operation(repository, letting_go)
    if repository.raw_ref(names.OPERATIONS) is not None:
        # The reflog has the old log's tips, and they have everything that was let go.
        run_git(repository.path, "reflog", "expire", "--expire=all", names.OPERATIONS)
