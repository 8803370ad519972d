"""Read the operation log: all operations, newest first, or one by a prefix of its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.errors import Ambiguous, NotFound
from scopes.ids import Oid
from scopes.model.operation import Operation
from scopes.store import refs
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit, read_operation

MIN_PREFIX_LENGTH = 4
_TRAILER = "Scopes-Operation"
_LIST = "list them: scopes operations list"


def walk_operations(repository: Repository) -> Iterator[tuple[Oid, Operation]]:
    """Yield every operation with its commit, newest first.

    Raises:
        Corrupt, NotFound: an operation record is damaged or missing.
    """
    for commit in walk_operation_commits(repository):
        yield commit.oid, read_operation(repository, commit)


def walk_operation_commits(repository: Repository) -> Iterator[Commit]:
    """Yield the commit of every operation, newest first; its subject begins with the kind and a colon.

    Raises:
        Corrupt, NotFound: a commit is damaged or missing.
    """
    value = repository.find_ref(refs.OPERATIONS)
    commit = None if value is None else read_commit(repository, Oid(value))
    while commit is not None:
        yield commit
        commit = _read_previous(repository, commit)


def is_operation(commit: Commit) -> bool:
    """Return True if a commit says that it is an operation, and nothing else; a forged one may be none."""
    return commit.trailers.keys() == {_TRAILER}


def find_operation(log: Iterable[Operation], prefix: str) -> Operation:
    """Resolve an operation by its id or a unique prefix.

    Raises:
        NotFound, Ambiguous: none or several match, or the prefix is shorter than that of a message may be.
    """
    if len(prefix) < MIN_PREFIX_LENGTH:
        hint = f"the prefix of an operation id has at least {MIN_PREFIX_LENGTH} characters; {_LIST}"
        raise NotFound(f"there is no operation {prefix!a}", hint=hint)
    found = [record for record in log if record.id.startswith(prefix)]
    if len(found) > 1:
        raise Ambiguous(f"{prefix!a} matches {len(found)} operations", hint="type a few more letters")
    if not found:
        raise NotFound(f"there is no operation {prefix!a}", hint=_LIST)
    return found[0]


def _read_previous(repository: Repository, commit: Commit) -> Commit | None:
    """Return the commit of the previous operation, the first parent; None for the first operation.

    The first parent of the first operation is an old value of a ref, or it has no parent.
    """
    if not commit.parents:
        return None
    parent = read_commit(repository, commit.parents[0])
    return parent if is_operation(parent) else None
