"""The list of what was purged: hashes of ids, joined by union, the same commit on every machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Corrupt
from scopes.history.sources import (
    NOTHING,
    Purged,
    decode_parts,
    hash_of,
    is_entry,
    purged_of,
    read_purged,
    read_purged_tree,
    write_purged,
)
from scopes.store.objects import read_commit, update_tree, walk_blobs
from scopes.store.refs import PURGED
from tests.support.store import git

NAMES = st.sampled_from([letter * 26 for letter in "abcdef"])
PARTS = st.none() | st.frozensets(st.integers(0, 5), min_size=1)
LISTS = st.builds(purged_of, st.dictionaries(NAMES, PARTS), st.lists(NAMES))


@given(LISTS, LISTS, LISTS)
def test_a_join_does_not_depend_on_order_or_repetition(one, two, three):
    assert one.join(two) == two.join(one)
    assert one.join(two).join(three) == one.join(two.join(three))
    assert one.join(one) == one
    assert one.join(NOTHING) == one


@given(LISTS, LISTS)
def test_what_a_list_lacks_and_the_list_are_the_join(one, two):
    assert two.join(one.without(two)) == one.join(two)
    assert not one.without(one.join(two))


def test_all_of_a_message_counts_more_than_parts_of_it():
    whole, part = purged_of({"a" * 26: None}, ()), purged_of({"a" * 26: frozenset({1})}, ())
    assert whole.join(part).parts_of("a" * 26) is None
    assert part.without(whole) == NOTHING
    assert whole.without(part) == whole


def test_a_list_is_read_as_it_was_written_and_has_one_commit(repository):
    purged = purged_of({"a" * 26: None, "b" * 26: frozenset({3, 0})}, ["c" * 40])
    commit = write_purged(repository, purged)
    assert read_purged_tree(repository, read_commit(repository, commit).tree) == purged
    assert write_purged(repository, Purged(dict(reversed(purged.messages.items())), purged.conversations)) == commit


def test_the_files_have_no_id_in_them(repository):
    commit = write_purged(repository, purged_of({"a" * 26: None}, ["c" * 40]))
    for path, oid in walk_blobs(repository, read_commit(repository, commit).tree):
        assert is_entry(path)
        assert "aaaa" not in path
        assert "cccc" not in path
        assert repository.read(oid)[1] == b'{"v":1}\n'


def test_without_a_ref_nothing_was_purged(repository):
    assert read_purged(repository) == NOTHING
    assert not read_purged(repository).has_message("a" * 26)


def test_what_is_no_entry_is_left_out(repository):
    name = hash_of("a" * 26)
    files = {"other": b"x", f"messages/{name[:2]}/{name[2:]}=": b"broken", f"messages/zz/{name[2:]}=": b'{"v":1}\n'}
    assert read_purged_tree(repository, update_tree(repository, None, files)) == NOTHING


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"v":2}',
        b'{"v":1,"parts":[]}',
        b'{"v":1,"parts":[-1]}',
        b'{"v":1,"parts":"a"}',
        b'{"v":1,"parts":[true]}',
        b'{"v":1}' + b" " * (1 << 16),
    ],
)
def test_an_entry_that_is_damaged_is_refused(data):
    with pytest.raises(Corrupt):
        decode_parts(data)


def test_the_list_can_be_read_with_plain_git(repository):
    git(repository, "update-ref", PURGED, write_purged(repository, purged_of({"a" * 26: None}, ())))
    assert git(repository, "ls-tree", "-r", "--name-only", PURGED).startswith("messages/")
