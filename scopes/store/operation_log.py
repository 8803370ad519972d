"""Read the operation log."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.model.operation import Operation, decode_operation
from scopes.store import refs
from scopes.store.objects import Commit
from scopes.store.repository import OPERATION_FILE, Repository, read_commit
from scopes.store.trees import find_blob


def walk_operations(repository: Repository) -> Iterator[tuple[Oid, Operation]]:
    """Yield every operation with its commit, newest first.

    Raises:
        Corrupt, NotFound: an operation record is damaged or missing.
    """
    value = repository.find_ref(refs.OPERATIONS)
    commit = None if value is None else read_commit(repository, Oid(value))
    while commit is not None:
        data = find_blob(repository, commit.tree, OPERATION_FILE)
        if data is None:
            raise Corrupt(f"commit {commit.oid} is not an operation", hint="see: scopes verify")
        yield commit.oid, decode_operation(data)
        commit = _read_previous(repository, commit)


def _read_previous(repository: Repository, commit: Commit) -> Commit | None:
    """Return the commit of the previous operation, the first parent; None for the first operation.

    The first parent of the first operation is an old value of a ref, or it has no parent.
    """
    if not commit.parents:
        return None
    parent = read_commit(repository, commit.parents[0])
    return parent if "Scopes-Operation" in parent.trailers else None
