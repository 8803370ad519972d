"""Within `refs_listed_once` questions about refs are answered from one listing, as the files would answer them."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt
from scopes.store.refs import ACTIVE, META, PENDING
from scopes.store.repository import Repository
from scopes.store.transactions import refs_listed_once
from tests.support.store import HEADS, MAIN, git, move, open_store, write_bytes, write_chain

OTHER = HEADS + "other"
FAR = f"{META}conv-001"
LINK = ACTIVE + "conv-001"
PREFIXES = [(), ("refs/",), (HEADS,), (HEADS + "o",), (META, HEADS), (HEADS, OTHER), ("refs/heads/conv-00",), ("x",)]


@pytest.fixture
def commits(repository):
    """Two commits; branches and metadata are at the first one, and main is active."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one), (OTHER, None, one), (FAR, None, one), (LINK, None, f"ref: {MAIN}"))
    return one, two


@pytest.mark.parametrize("prefixes", PREFIXES)
def test_the_listing_has_what_the_files_have_in_the_same_order(repository, commits, prefixes):
    expected = list(repository.list_refs(*prefixes).items())
    with refs_listed_once(repository):
        assert list(repository.list_refs(*prefixes).items()) == expected


@pytest.mark.parametrize("name", [MAIN, OTHER, FAR, LINK, HEADS + "missing", "refs/heads", PENDING])
def test_a_ref_has_the_value_that_its_file_has(repository, commits, name):
    expected = repository.find_ref(name), repository.find_symbolic(name)
    with refs_listed_once(repository):
        assert (repository.find_ref(name), repository.find_symbolic(name)) == expected


def test_packed_refs_are_listed_too(repository, commits):
    git(repository, "pack-refs", "--all")
    with refs_listed_once(repository):
        assert repository.find_ref(OTHER) == commits[0]
        assert repository.list_refs(META) == {FAR: commits[0]}


def test_no_file_is_read_for_a_question(repository, commits, monkeypatch):
    read, original = [], Repository.raw_ref
    with refs_listed_once(repository):
        monkeypatch.setattr(Repository, "raw_ref", lambda self, name: read.append(name) or original(self, name))
        assert repository.find_ref(MAIN) == commits[0]
        assert repository.find_ref(HEADS + "missing") is None
        assert len(repository.list_refs(HEADS)) == 2
    assert read == []


def test_what_another_process_moves_is_seen_after_the_block(repository, commits):
    one, two = commits
    with refs_listed_once(repository):
        move(open_store(repository), (MAIN, one, two))
        assert repository.find_ref(MAIN) == one
        assert repository.raw_ref(MAIN) == two
    assert repository.find_ref(MAIN) == two


def test_an_error_ends_the_listing(repository, commits):
    with pytest.raises(ZeroDivisionError), refs_listed_once(repository):
        _ = 1 / 0
    assert repository.listed is None


def test_a_damaged_ref_is_reported_to_whoever_needs_it(repository, commits):
    """A listing would leave it out, as if it did not exist."""
    write_bytes(f"{repository.path}/{OTHER}", b"damaged\n")
    with refs_listed_once(repository):
        assert repository.find_ref(MAIN) == commits[0]
        with pytest.raises(Corrupt):
            repository.find_ref(OTHER)


def test_an_earlier_state_stays_the_one_that_is_shown(repository, commits):
    repository.override_refs({MAIN: commits[1]})
    with refs_listed_once(repository):
        assert repository.find_ref(MAIN) == commits[1]
    assert repository.is_past
    assert repository.find_ref(MAIN) == commits[1]
    assert repository.raw_ref(MAIN) == commits[1]


def test_a_listing_is_no_earlier_state(repository, commits):
    """The store can be written, and commands that show the present state go on."""
    with refs_listed_once(repository):
        assert not repository.is_past
        repository.require_writable()


def test_a_block_within_a_block_ends_the_listing(repository, commits):
    with refs_listed_once(repository):
        with refs_listed_once(repository):
            assert repository.find_ref(MAIN) == commits[0]
        assert repository.find_ref(MAIN) == commits[0]
    assert repository.listed is None
