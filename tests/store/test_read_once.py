"""Reading many objects once gives the same objects and errors as reading them one by one."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt, NotFound
from scopes.store.read_once import ReadOnce
from tests.support.history import history
from tests.support.store import git, make_store, remove_object


@pytest.fixture
def objects(repository):
    """The ids of all objects of a store; half of them are packed, with deltas."""
    history(repository, "main: a b c d")
    git(repository, "repack", "-adfq", "--depth=50")
    git(repository, "prune-packed")
    history(repository, "main: e f")
    listed = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    return repository, sorted(listed)


def test_packed_and_loose_objects_of_every_kind_are_read(objects):
    repository, oids = objects
    once, other = ReadOnce(repository), make_store(repository.path)
    found = {oid: once.read(oid) for oid in oids}
    assert found == {oid: other.read(oid) for oid in oids}
    assert {kind for kind, _ in found.values()} == {"commit", "tree", "blob"}


def test_packed_objects_are_not_kept_in_memory(objects):
    repository, _ = objects
    tip = git(repository, "rev-parse", "conv-001/main").strip()
    fresh = make_store(repository.path)
    ReadOnce(fresh).read(tip)
    assert fresh.recent.find(tip) is None
    fresh.read(tip)
    assert fresh.recent.find(tip) is not None


def test_what_is_missing_or_damaged_raises_as_for_a_repository(objects):
    repository, _ = objects
    tip = git(repository, "rev-parse", "conv-002/main").strip()
    remove_object(repository, tip)
    once = ReadOnce(make_store(repository.path))
    for oid, error in ((tip, NotFound), ("f" * 40, NotFound), (tip[:10], Corrupt), ("?" * 40, Corrupt)):
        with pytest.raises(error):
            once.read(oid)


def test_an_object_that_was_packed_meanwhile_is_found(objects):
    repository, oids = objects
    once = ReadOnce(repository)
    git(repository, "repack", "-adq")
    git(repository, "prune-packed")
    assert all(once.read(oid) for oid in oids)


def test_an_object_can_be_written(repository):
    once = ReadOnce(repository)
    assert once.read(once.write("blob", b"text")) == ("blob", b"text")
