"""Objects in memory have the ids that git gives them, and the store does not get them."""

from __future__ import annotations

import pytest

from scopes.errors import NotFound
from scopes.store.objects import BLOB, EMPTY_TREE, TREE
from scopes.store.trees import ObjectsInMemory
from tests.support.store import state_of


@pytest.mark.parametrize("data", [b"", b"hello\n", bytes(range(256)) * 300])
def test_an_object_has_the_id_that_the_store_would_give_it(repository, data):
    objects = ObjectsInMemory(repository)
    assert objects.write(BLOB, data) == repository.write(BLOB, data)
    assert objects.write(TREE, b"") == EMPTY_TREE


def test_what_is_written_is_read_again_and_the_store_does_not_have_it(repository):
    objects = ObjectsInMemory(repository)
    before = state_of(repository)
    oid = objects.write(BLOB, b"a plan")
    assert objects.read(oid) == (BLOB, b"a plan")
    assert not repository.has(oid)
    with pytest.raises(NotFound):
        repository.read(oid)
    assert state_of(repository) == before


def test_objects_of_the_store_are_read_through_it(repository):
    oid = repository.write(BLOB, b"kept")
    objects = ObjectsInMemory(repository)
    assert objects.read(oid) == (BLOB, b"kept")
    with pytest.raises(NotFound):
        objects.read("0" * 40)
