"""A source that was imported before finds its conversation without a look at all others."""

from __future__ import annotations

import pytest

from scopes.conversation.rename import rename_conversation
from scopes.conversation.rewind import rewind
from scopes.importers import targets
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo


@pytest.fixture
def looked_at(monkeypatch):
    """The conversations whose metadata an import has read to find its targets."""
    found = []
    original = targets.read_metadata

    def read(repository, conversation):
        found.append(conversation)
        return original(repository, conversation)

    monkeypatch.setattr(targets, "read_metadata", read)
    return found


def transcript(tmp_path, name, words):
    return write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, words))


@pytest.fixture
def many(repository, tmp_path):
    import_demo(repository, *(transcript(tmp_path, f"s{number}", "a b") for number in range(8)))
    return repository


def test_a_grown_source_reads_its_own_conversation_only(many, tmp_path, looked_at):
    import_demo(many, transcript(tmp_path, "s3", "a b c"))
    assert set(looked_at) == {"conv-004"}
    assert branch_words(many, conversation="conv-004") == "a b c"


def test_a_new_source_is_compared_with_all(many, tmp_path, looked_at):
    import_demo(many, transcript(tmp_path, "new", "x"))
    assert len(set(looked_at)) == 8


def test_a_renamed_conversation_is_found(many, tmp_path, looked_at):
    rename_conversation(many, "conv-004", "shop")
    import_demo(many, transcript(tmp_path, "s3", "a b c"))
    assert set(looked_at) == {"shop"}
    assert branch_words(many, conversation="shop") == "a b c"


def test_a_branch_that_was_moved_is_found_among_all(many, tmp_path):
    rewind(many, "conv-004", count=1)
    import_demo(many, transcript(tmp_path, "s3", "a b c"))
    assert branch_words(many, conversation="conv-004") == "a"
    assert len(import_demo(many, transcript(tmp_path, "s3", "a b c d")).conversations) == 1
