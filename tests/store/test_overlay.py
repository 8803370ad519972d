"""Overlays and empty stores are temporary."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pygit2
import pytest

from scopes.errors import NotFound
from scopes.store.objects import BLOB
from scopes.store.packs import bulk_objects
from scopes.store.repository import empty_store, overlay_of


@pytest.fixture(autouse=True)
def content(repository):
    """Write a loose object and a packed one."""
    repository.write(BLOB, b"loose")
    with bulk_objects(repository) as objects:
        objects.write(BLOB, b"packed")


def walk(repository):
    return sorted((folder, *files) for folder, _, files in os.walk(repository.path))


def test_an_overlay_has_the_objects_and_refs_of_its_store(repository):
    packed = next(name for name in (repository.write(BLOB, b"packed"),))
    loose = repository.write(BLOB, b"loose")
    with overlay_of(repository) as shadow:
        assert [shadow.read(oid) for oid in (loose, packed)] == [("blob", b"loose"), ("blob", b"packed")]
        assert shadow.list_refs() == repository.list_refs()


def test_objects_written_into_an_overlay_are_discarded(repository):
    """Also whole packs, of which a large import writes several."""
    before = walk(repository)
    with overlay_of(repository) as shadow:
        with bulk_objects(shadow) as objects:
            oid = objects.write(BLOB, b"in vain")
        assert shadow.read(oid) == ("blob", b"in vain")
        path = shadow.path
    assert (walk(repository), os.path.exists(path)) == (before, False)
    with pytest.raises(NotFound):
        repository.read(oid)


def test_an_empty_store_exists_for_the_duration_of_the_block():
    with empty_store() as store:
        assert store.list_refs() == {}
    assert not os.path.exists(store.path)


def test_an_empty_store_is_not_synced_to_the_disk(monkeypatch):
    """On a busy disk its creation and one import took 240 ms, almost all of them in fsync."""
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    switched = []
    settings = SimpleNamespace(enable_fsync_gitdir=switched.append, search_path=pygit2.settings.search_path)
    monkeypatch.setattr(pygit2, "settings", settings)
    with empty_store() as store, bulk_objects(store) as objects:
        objects.write(BLOB, b"temporary")
    assert (store.durable, synced) == (False, [])
    assert switched == [False, True]  # libgit2 has one setting for all stores of the process
