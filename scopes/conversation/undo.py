"""`undo` and `redo`: restore the refs that an operation moved; both are operations themselves.

A second `undo` undoes the operation before. As in an editor, `redo` works only until there is another new operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from scopes.errors import NotFound, Refused
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.result import Result
from scopes.store import refs
from scopes.store.graph import is_ancestor
from scopes.store.operation_log import find_operation, walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

UNDO, REDO = "undo", "redo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone(Result):
    """An operation was undone, or redone."""

    target: Operation
    redo: bool
    operation: OperationId


def undo(repository: Repository, operation: str | None = None) -> Undone:
    """Undo the last operation, or the one with the given id: restore every ref that it moved.

    Raises:
        NotFound: there is nothing to undo, or no such operation.
        Refused: a ref has moved since, or the operation was undone already; the hint names a way out.
    """
    with exclusive_write(repository):
        log = [record for _, record in walk_operations(repository)]
        undone = _canceled(log)
        if operation is not None:
            target = find_operation(log, operation)
            if target.id in undone:
                raise Refused(f"operation {target.id[:8]} was undone already", hint="redo it: scopes redo")
        else:
            target = next((o for o in log if o.kind not in (UNDO, REDO) and o.id not in undone), None) or _nothing(UNDO)
        return _reverse(repository, target, redo=False)


def redo(repository: Repository) -> Undone:
    """Redo the operation that was undone last.

    Raises:
        NotFound: the last operation is not an undo.
        Refused: a ref has moved since.
    """
    with exclusive_write(repository):
        log = [record for _, record in walk_operations(repository)]
        undone = _canceled(log)
        for record in log:
            if record.kind == UNDO and record.id not in undone:
                return _reverse(repository, record, redo=True)
            if record.kind not in (UNDO, REDO):
                break
        return _nothing(REDO)


def _reverse(repository: Repository, target: Operation, *, redo: bool) -> Undone:
    kind = REDO if redo else UNDO
    tx = RefTransaction(repository)
    for change in target.changes:
        tx.move_ref(change.ref, change.new, change.old)
    for change in tx.list_changes():
        current = repository.find_ref(change.ref)
        if current != change.old:
            raise _moved_since(repository, target, change, current)
    summary = target.summary.removeprefix("undo ") if redo else f"undo {target.summary}"
    done = tx.commit(kind, summary, undoes=target.id)
    return Undone(target=target, redo=redo, operation=done.id)


def _moved_since(repository: Repository, target: Operation, change: RefChange, current: str | None) -> Refused:
    """Return the error for a ref that has moved since an operation; its hint names the commands to undo it anyway."""
    shown = change.ref.removeprefix(refs.HEADS)
    if (
        change.ref.startswith(refs.HEADS)
        and current
        and change.old
        and is_ancestor(repository, Oid(change.old), Oid(current))
    ):
        rewind = f"scopes conv rewind {shown} --to {change.old[:12]}"
        return Refused(
            f"{shown} has new messages since '{target.summary}'",
            hint=f"rewind them first: {rewind}; then: scopes undo {target.id}",
        )
    return Refused(f"{shown} was moved since '{target.summary}'", hint="see: scopes conv operations list")


def _canceled(newest_first: Iterable[Operation]) -> set[OperationId]:
    """Return the operations that were undone by an undo or redo that was not undone itself."""
    canceled: set[OperationId] = set()
    for record in newest_first:
        if record.undoes is not None and record.id not in canceled:
            canceled.add(record.undoes)
    return canceled


def _nothing(what: str) -> NoReturn:
    raise NotFound(f"there is nothing to {what}", hint="see: scopes conv operations list")
