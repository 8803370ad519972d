"""An older copy of an imported source: no branch moves back, and the copy is reported."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.history.names import list_branch_tips
from scopes.importers.verify_source import verify_source
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo, skipped_paths
from tests.support.store import make_store

LONG = session_records("s1", "a b c d")


@pytest.fixture(autouse=True)
def imported(repository, tmp_path):
    """Import the longer version."""
    import_demo(repository, write_transcript(tmp_path / "long.jsonl", *LONG))


def test_an_older_copy_moves_nothing(repository, tmp_path):
    before = repository.list_refs(), count_objects(repository)
    done = import_demo(repository, write_transcript(tmp_path / "short.jsonl", *LONG[:3]))
    assert (repository.list_refs(), count_objects(repository)) == before
    assert (done.operation, done.sources, skipped_paths(done)) == (None, (), [str(tmp_path / "short.jsonl")])
    assert "an older copy of a source that is imported already" in done.skipped[0].reason


def test_an_older_copy_and_the_longer_source_both_verify(repository, tmp_path):
    """The longer one is still stored completely, and the shorter one is contained in it."""
    import_demo(repository, write_transcript(tmp_path / "short.jsonl", *LONG[:3]))
    long = verify_source(repository, str(tmp_path / "long.jsonl"), (DemoFormat(),))
    short = verify_source(repository, str(tmp_path / "short.jsonl"), (DemoFormat(),))
    assert (long.whole, long.comparison, short.whole, short.comparison) == (True, "equal", True, "cut")


def test_importing_one_after_the_other_equals_both_at_once(repository, tmp_path):
    short, long = (
        write_transcript(tmp_path / "short.jsonl", *LONG[:3]),
        write_transcript(tmp_path / "long.jsonl", *LONG),
    )
    import_demo(repository, short)
    other = make_store(tmp_path / "other.git")
    import_demo(other, short, long)
    prefixes = ("refs/heads/", "refs/scopes/tracking/", "refs/scopes/sources/")
    assert repository.list_refs(*prefixes) == other.list_refs(*prefixes)


def test_a_shorter_file_that_differs_counts_as_rewritten(repository, tmp_path):
    """Only an exact prefix is an older copy."""
    import_demo(repository, write_transcript(tmp_path / "short.jsonl", *session_records("s1", "a x")))
    assert (branch_words(repository), branch_words(repository, "abandoned/1")) == ("a x", "a b c d")


def test_an_older_copy_with_again_restores_the_whole_conversation(repository, tmp_path):
    delete(repository, "conv-001")
    done = import_demo(repository, write_transcript(tmp_path / "short.jsonl", *LONG[:3]), again=True)
    name = done.conversations[0].id
    assert branch_words(repository, conversation=name) == "a b c d"
    assert list(list_branch_tips(repository, name)) == ["main"]


def test_a_shorter_copy_in_one_run_is_counted_by_the_longer_source(tmp_path):
    """Every skipped file has a reason and a byte count."""
    store = make_store(tmp_path / "new.git")
    short, long = (
        write_transcript(tmp_path / "short.jsonl", *LONG[:3]),
        write_transcript(tmp_path / "long.jsonl", *LONG),
    )
    done = import_demo(store, short, long)
    (found,) = done.skipped
    assert (found.path, found.reason) == (short.path, f"an older copy of {long.path}, contained in it")
    assert (found.became.size, found.became.accounted_bytes, found.became.messages) == (short.size, short.size, 2)


def test_equal_copies_are_reported_as_copies(tmp_path):
    store = make_store(tmp_path / "new.git")
    done = import_demo(
        store, write_transcript(tmp_path / "a.jsonl", *LONG), write_transcript(tmp_path / "b.jsonl", *LONG)
    )
    assert [found.reason for found in done.skipped] == [f"a copy of {tmp_path / 'a.jsonl'}"]
