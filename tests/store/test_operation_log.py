"""The operation log yields every record once, newest first, and ends at the first operation."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt, NotFound
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.objects import COMMIT, EMPTY_TREE, TREE, format_commit
from scopes.store.operations import walk_operations
from scopes.store.transactions import set_ref, write_operation
from tests.support.store import (
    CAROL,
    HEADS,
    MAIN,
    NOON,
    git,
    loose_path,
    move,
    open_store,
    operation,
    write_bytes,
    write_chain,
    write_message,
)


def logged(repository):
    return [[change.ref.removeprefix(HEADS) for change in what.changes] for _, what in walk_operations(repository)]


def test_a_store_without_operations_has_an_empty_log(repository):
    assert list(walk_operations(repository)) == []


def test_operations_are_yielded_newest_first_with_their_commits(repository):
    one, two = write_chain(repository, "one", "two")
    oids = [move(repository, (HEADS + name, None, one)) for name in "abc"]
    oids.append(move(repository, (HEADS + "a", one, two), (HEADS + "b", one, None)))
    assert logged(repository) == [["a", "b"], ["c"], ["b"], ["a"]]
    assert [oid for oid, _ in walk_operations(repository)] == oids[::-1]
    assert next(walk_operations(repository))[1].changes == (
        RefChange(HEADS + "a", one, two),
        RefChange(HEADS + "b", one, None),
    )


def test_the_log_ends_at_its_first_operation(repository):
    """The parents of a record are the previous record and the old and new tips; only the first is read as an operation."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, two))
    assert logged(repository) == [["main"]]
    move(repository, (MAIN, two, one))
    assert logged(repository) == [["main"], ["main"]]


def test_a_message_that_looks_like_an_operation_is_not_one(repository):
    """B-20: its text looks like a trailer of scopes."""
    forged = write_message(repository, "Scopes-Operation: forged\n\nScopes-Operation: forged")
    move(repository, (MAIN, None, forged))
    assert logged(repository) == [["main"]]


def test_a_pending_operation_is_the_newest(repository):
    (one,) = write_chain(repository, "one")
    move(repository, (HEADS + "a", None, one))
    what = operation(RefChange(HEADS + "b", None, one))
    commit = write_operation(repository, what, Oid(repository.raw_ref(refs.OPERATIONS)))
    set_ref(repository, RefChange(refs.PENDING, None, commit), "test")
    assert logged(open_store(repository)) == [["b"], ["a"]]


def test_a_damaged_record_is_corrupt_and_newer_ones_are_read(repository):
    """D-42."""
    (one,) = write_chain(repository, "one")
    first, second = (move(repository, (HEADS + name, None, one)) for name in "ab")
    write_bytes(loose_path(repository, git(repository, "rev-parse", f"{first}:operation.json").strip()), b"")
    walk = walk_operations(repository)
    assert next(walk)[0] == second
    with pytest.raises(Corrupt):
        next(walk)


def test_a_log_with_a_missing_commit_is_not_found(repository):
    """D-42."""
    write_bytes(f"{repository.path}/{refs.OPERATIONS}", b"1" * 40 + b"\n")
    with pytest.raises(NotFound):
        list(walk_operations(repository))


def test_a_commit_that_is_not_an_operation_is_corrupt(repository):
    """The log ref points to a message."""
    repository.write(TREE, b"")
    empty = format_commit(tree=EMPTY_TREE, parents=[], author=CAROL, time=NOON, subject="x", trailers=[])
    for oid in (write_message(repository, "one"), repository.write(COMMIT, empty)):
        git(repository, "update-ref", refs.OPERATIONS, oid)
        with pytest.raises(Corrupt, match="is not an operation"):
            list(walk_operations(repository))
