"""Letting go: the trash and the operation log before a moment. The only place where something stops being reachable."""

from __future__ import annotations

from scopes.clock import parse_time
from scopes.ids import Oid
from scopes.model.operation import Operation, RefChange
from scopes.store import refs as names
from scopes.store.operation_log import walk_operations
from scopes.store.recovery import set_ref
from scopes.store.repository import Repository
from scopes.store.transaction import write_operation


def expire(repository: Repository, cutoff_nanoseconds: int) -> tuple[int, int]:
    """Forget operations before the cutoff and the trash that they made; returns how many of each.

    The log is written anew without them, then its ref moves in one step; a trash ref goes only when no operation that
    stays knows it. Call it under the exclusive lock.
    """
    old_tip = repository.raw_ref(names.OPERATIONS)
    log = [operation for _, operation in walk_operations(repository)]
    kept = [o for o in log if (parse_time(o.time) or 0) >= cutoff_nanoseconds]
    if old_tip is None:
        return 0, 0
    if len(kept) < len(log):
        tip: Oid | None = None
        for operation in reversed(kept):
            tip = write_operation(repository, operation, tip)
        set_ref(repository, RefChange(names.OPERATIONS, old_tip, tip), "gc: expire")
    return len(log) - len(kept), _expire_trash(repository, kept)


def _expire_trash(repository: Repository, kept: list[Operation]) -> int:
    known = {change.ref for operation in kept for change in operation.changes}
    count = 0
    for ref, value in repository.list_refs(names.TRASH).items():
        if ref not in known:
            set_ref(repository, RefChange(ref, value, None), "gc: expire")
            count += 1
    return count
