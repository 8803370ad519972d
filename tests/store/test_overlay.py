"""A store to write into in vain."""

from __future__ import annotations

import os

import pytest

from scopes.errors import NotFound
from scopes.store.objects import BLOB
from scopes.store.overlay import empty_store, overlay_of
from scopes.store.packs.bulk import bulk_objects


@pytest.fixture(autouse=True)
def content(repository):
    """Write a loose object and a packed one."""
    repository.write(BLOB, b"loose")
    with bulk_objects(repository) as objects:
        objects.write(BLOB, b"packed")


def walk(repository):
    return sorted((folder, *files) for folder, _, files in os.walk(repository.path))


def test_a_shadow_has_what_its_store_has(repository):
    packed = next(name for name in (repository.write(BLOB, b"packed"),))
    loose = repository.write(BLOB, b"loose")
    with overlay_of(repository) as shadow:
        assert [shadow.read(oid) for oid in (loose, packed)] == [("blob", b"loose"), ("blob", b"packed")]
        assert shadow.list_refs() == repository.list_refs()


def test_what_is_written_into_a_shadow_goes_away_with_it(repository):
    """Also whole packs, of which an import of very much makes several."""
    before = walk(repository)
    with overlay_of(repository) as shadow:
        with bulk_objects(shadow) as objects:
            oid = objects.write(BLOB, b"in vain")
        assert shadow.read(oid) == ("blob", b"in vain")
        path = shadow.path
    assert (walk(repository), os.path.exists(path)) == (before, False)
    with pytest.raises(NotFound):
        repository.read(oid)


def test_an_empty_store_is_there_for_the_time_of_a_block():
    with empty_store() as store:
        assert store.list_refs() == {}
    assert not os.path.exists(store.path)
