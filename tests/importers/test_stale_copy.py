"""An older copy of a session whose longer form is here: nothing is thrown back, and it is said so."""

from __future__ import annotations

import pytest

from scopes.conversation.delete import delete
from scopes.history.revparse import list_branch_tips
from scopes.importers.verify_source import verify_source
from tests.importers.stores import bring, new_store, objects, passed_over, words
from tests.importers.toy import Toy, line, write

LONG = line("s1", "a b c d")


@pytest.fixture
def repository(tmp_path):
    """A store that has the longer form."""
    store = new_store(tmp_path / "store.git")
    bring(store, write(tmp_path / "long.jsonl", *LONG))
    return store


def test_an_older_copy_moves_nothing(repository, tmp_path):
    before = repository.list_refs(), objects(repository)
    done = bring(repository, write(tmp_path / "short.jsonl", *LONG[:3]))
    assert (repository.list_refs(), objects(repository)) == before
    assert (done.operation, done.sources, passed_over(done)) == (None, (), [str(tmp_path / "short.jsonl")])
    assert "an older copy of what is here already" in done.skipped[0].reason


def test_an_older_copy_and_the_longer_form_are_both_proven_after_it(repository, tmp_path):
    """The longer one stays whole, and the shorter one is in the store too."""
    bring(repository, write(tmp_path / "short.jsonl", *LONG[:3]))
    long = verify_source(repository, str(tmp_path / "long.jsonl"), (Toy(),))
    short = verify_source(repository, str(tmp_path / "short.jsonl"), (Toy(),))
    assert (long.whole, long.comparison, short.whole, short.comparison) == (True, "equal", True, "cut")


def test_one_after_the_other_gives_what_both_at_once_give(repository, tmp_path):
    short, long = write(tmp_path / "short.jsonl", *LONG[:3]), write(tmp_path / "long.jsonl", *LONG)
    bring(repository, short)
    other = new_store(tmp_path / "other.git")
    bring(other, short, long)
    prefixes = ("refs/heads/", "refs/scopes/tracking/", "refs/scopes/sources/")
    assert repository.list_refs(*prefixes) == other.list_refs(*prefixes)


def test_what_was_cut_differently_still_counts_as_rewritten(repository, tmp_path):
    """Only a beginning, byte for byte, is an older copy."""
    bring(repository, write(tmp_path / "short.jsonl", *line("s1", "a x")))
    assert (words(repository), words(repository, "abandoned/1")) == ("a x", "a b c d")


def test_an_older_copy_brings_a_deleted_conversation_back_whole(repository, tmp_path):
    delete(repository, "conv-001")
    done = bring(repository, write(tmp_path / "short.jsonl", *LONG[:3]), again=True)
    name = done.conversations[0].id
    assert words(repository, conversation=name) == "a b c d"
    assert list(list_branch_tips(repository, name)) == ["main"]


def test_a_shorter_copy_in_one_run_is_accounted_for_by_the_longer_one(tmp_path):
    """A reason for every file that is passed over, and every byte of it."""
    store = new_store(tmp_path / "new.git")
    short, long = write(tmp_path / "short.jsonl", *LONG[:3]), write(tmp_path / "long.jsonl", *LONG)
    done = bring(store, short, long)
    (found,) = done.skipped
    assert (found.path, found.reason) == (short.path, f"an older copy of {long.path}, contained in it")
    assert (found.account.size, found.account.accounted_bytes, found.account.messages) == (short.size, short.size, 2)


def test_equal_copies_are_called_so(tmp_path):
    store = new_store(tmp_path / "new.git")
    done = bring(store, write(tmp_path / "a.jsonl", *LONG), write(tmp_path / "b.jsonl", *LONG))
    assert [found.reason for found in done.skipped] == [f"a copy of {tmp_path / 'a.jsonl'}"]
