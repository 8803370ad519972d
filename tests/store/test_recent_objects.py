"""Objects in memory: what was read or written once is not read from disk again, within limits."""

from __future__ import annotations

import os
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import NotFound
from scopes.store.objects import BLOB
from scopes.store.repository import MAX_OBJECT_BYTES, RecentObjects


def remove_object(repository, oid):
    """Remove a loose object from disk."""
    os.remove(os.path.join(repository.path, "objects", oid[:2], oid[2:]))


def test_an_object_that_was_written_is_read_without_the_disk(repository):
    oid = repository.write(BLOB, b"tea")
    remove_object(repository, oid)
    assert repository.read(oid) == (BLOB, b"tea")


def test_a_command_that_verifies_reads_the_disk(repository):
    oid = repository.write(BLOB, b"tea")
    remove_object(repository, oid)
    with repository.from_disk(), pytest.raises(NotFound):
        repository.read(oid)
    with pytest.raises(NotFound):
        repository.read(oid)


def test_a_closed_repository_keeps_nothing(repository):
    oid = repository.write(BLOB, b"tea")
    remove_object(repository, oid)
    repository.close()
    with pytest.raises(NotFound):
        repository.read(oid)


def test_closing_a_repository_that_reads_the_disk_does_not_turn_its_memory_on(repository):
    with repository.from_disk():
        repository.close()
        oid = repository.write(BLOB, b"tea")
        remove_object(repository, oid)
        with pytest.raises(NotFound):
            repository.read(oid)


def test_a_large_object_is_not_kept():
    recent = RecentObjects()
    recent.add("a", (BLOB, bytes(MAX_OBJECT_BYTES)))
    recent.add("b", (BLOB, bytes(MAX_OBJECT_BYTES + 1)))
    assert (recent.find("a") is not None, recent.find("b")) == (True, None)


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(0, 5000))
def test_the_newest_objects_stay_and_half_of_the_limit_is_always_used(added, limit):
    recent, order = RecentObjects(limit), []
    for number in added:
        if recent.find(str(number)) is None:
            order.append(number)
            recent.add(str(number), (BLOB, bytes(number * 13)))
    newest = list(dict.fromkeys(reversed(order)))  # by the last time that each was added
    sizes = list(accumulate(number * 13 + 300 for number in newest))
    kept = [recent.find(str(number)) is not None for number in newest]
    assert kept == sorted(kept, reverse=True)  # no older object without all newer ones
    assert all(size <= limit for size, is_kept in zip(sizes, kept, strict=True) if is_kept)
    assert all(is_kept for size, is_kept in zip(sizes, kept, strict=True) if size <= limit / 2)
