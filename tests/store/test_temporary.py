"""Objects of dry runs and empty stores are temporary."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pygit2
import pytest

from scopes.errors import NotFound
from scopes.store.objects import BLOB
from scopes.store.packs import bulk_objects
from scopes.store.repository import empty_store


@pytest.fixture(autouse=True)
def content(repository):
    """Write a loose object and a packed one."""
    repository.write(BLOB, b"loose")
    with bulk_objects(repository) as objects:
        objects.write(BLOB, b"packed")


def walk(repository):
    return sorted((folder, *files) for folder, _, files in os.walk(repository.path))


def test_objects_of_a_dry_run_are_discarded(repository):
    """Also whole packs, of which a large import writes several."""
    before = walk(repository)
    with bulk_objects(repository, keep=False) as objects:
        objects._flush_bytes = 1
        oids = [objects.write(BLOB, data) for data in (b"in vain", b"in vain, too")]
        assert objects.finish() == ()
        assert [objects.read(oid)[1] for oid in oids] == [b"in vain", b"in vain, too"]
        assert walk(repository) == before
    assert walk(repository) == before
    with pytest.raises(NotFound):
        repository.read(oids[0])


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
