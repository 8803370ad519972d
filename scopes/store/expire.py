"""Delete trash and operation records before a cutoff; beside `purge`, only this makes stored data unreachable."""

from __future__ import annotations

from dataclasses import replace

from scopes.clock import new_id, now, parse_time
from scopes.ids import Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.result import plural
from scopes.store import refs
from scopes.store.git_program import run_git
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import commit_operation, write_operation

EXPIRE = "expire"
PURGE = "purge"
FINAL = frozenset({EXPIRE, PURGE})
"""Kinds of operations that cannot be undone."""


def expire(repository: Repository, cutoff_nanoseconds: int) -> tuple[int, int]:
    """Delete operations before the cutoff and their trash; return the number of operations and of trash refs.

    The operation log is rewritten without them, with a record of the expire on top. A trash ref is deleted only if no
    remaining operation refers to it. This is atomic like an operation, but it cannot be undone. Call it under the
    exclusive lock.
    """
    old_tip = repository.raw_ref(refs.OPERATIONS)
    if old_tip is None:
        return 0, 0  # without the log it is unknown which trash belongs to which operation
    kept, expired, trash = plan_expire(repository, cutoff_nanoseconds)
    if expired or trash:
        operations = f"{len(expired)} {plural(len(expired), 'operation')}"
        deleted = f"{len(trash)} {plural(len(trash), 'ref')} of the trash"
        record = final_record(repository, EXPIRE, f"delete {operations} and {deleted} for good")
        tip = write_operation(repository, record, _write_log(repository, kept) if expired else Oid(old_tip))
        apply_final(repository, record, [RefChange(refs.OPERATIONS, old_tip, tip), *trash])
        if repository.raw_ref(refs.OPERATIONS) is not None:
            # The reflog still has the old tips of the log, which reach everything that was expired.
            expiry = ("reflog", "expire", "--expire=all", refs.OPERATIONS)
            run_git(repository.path, *expiry, lock=repository.lock.descriptor)
    return len(expired), len(trash)


def plan_expire(
    repository: Repository, cutoff_nanoseconds: int
) -> tuple[list[Operation], list[Operation], list[RefChange]]:
    """Return the operations that an expire would keep, those that it would delete, and the changes of the trash.

    Records of earlier expires are in neither list if they are before the cutoff: they are deleted, but do not count.
    """
    log = [operation for _, operation in walk_operations(repository)]
    if not log:
        return [], [], []  # without the log it is unknown which trash belongs to which operation
    kept = [o for o in log if (parse_time(o.time) or 0) >= cutoff_nanoseconds]
    expired = [o for o in log if (parse_time(o.time) or 0) < cutoff_nanoseconds and o.kind != EXPIRE]
    referenced = {change.ref for operation in kept for change in operation.changes}
    trash = [RefChange(r, value, None) for r, value in repository.list_refs(refs.TRASH).items() if r not in referenced]
    return kept, expired, trash


def _write_log(repository: Repository, newest_first: list[Operation]) -> Oid | None:
    tip: Oid | None = None
    for operation in reversed(newest_first):
        tip = write_operation(repository, operation, tip)
    return tip


def final_record(repository: Repository, kind: str, summary: str, command: str | None = None) -> Operation:
    """Return the record of an operation that cannot be undone; it names no ref, so that it keeps nothing."""
    return Operation(
        id=OperationId(new_id()),
        kind=kind,
        summary=summary,
        command=repository.caller.command if command is None else command,
        actor=repository.caller.actor,
        time=now(),
        changes=(),
    )


def apply_final(repository: Repository, record: Operation, changes: list[RefChange]) -> None:
    """Move the refs; the record in the log has no changes, so that it does not keep what was deleted."""
    commit_operation(repository, replace(record, changes=tuple(changes)))
