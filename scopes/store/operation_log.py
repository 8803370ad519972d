"""Reading the operation log, newest first."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.ids import Oid
from scopes.model.operation import Operation, decode_operation
from scopes.store import refs as names
from scopes.store.repository import OPERATION_FILE, Repository, read_commit
from scopes.store.trees import find_blob


def walk_operations(repository: Repository) -> Iterator[tuple[Oid, Operation]]:
    """Yield every operation with its commit, newest first.

    Raises:
        Corrupt, NotFound: a record is damaged or missing.
    """
    value = repository.find_ref(names.OPERATIONS)
    while value is not None:
        commit = read_commit(repository, Oid(value))
        data = find_blob(repository, commit.tree, OPERATION_FILE)
        if data is None:
            return
        yield commit.oid, decode_operation(data)
        value = next((p for p in commit.parents[:1] if _is_operation(repository, p)), None)


def _is_operation(repository: Repository, oid: Oid) -> bool:
    """Tell the previous operation, always the first parent, from the old tip that the first one names there."""
    return "Scopes-Operation" in read_commit(repository, oid).trailers
