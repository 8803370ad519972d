"""`operations`: the operation log, which records every ref change except appends."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice

from scopes.errors import check_not_negative
from scopes.history.past import find_recorded_operation
from scopes.ids import Oid
from scopes.model.operation import Operation
from scopes.result import Result
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationList(Result):
    """Operations, newest first."""

    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView(Result):
    """One operation with its ref changes, and the commit that records it."""

    operation: Operation
    commit: Oid


def list_operations(repository: Repository, *, limit: int | None = None) -> OperationList:
    """List operations, newest first.

    Raises:
        Invalid: the limit is negative.
    """
    check_not_negative(limit, "number of operations", "for example: -n 20")
    count = None if limit is None else min(limit, sys.maxsize)
    return OperationList(operations=tuple(record for _, record in islice(walk_operations(repository), count)))


def show_operation(repository: Repository, operation: str) -> OperationView:
    """Return one operation, given as in `find_recorded_operation`.

    Raises as `find_recorded_operation` does.
    """
    commit, found = find_recorded_operation(repository, operation)
    return OperationView(operation=found, commit=commit)
