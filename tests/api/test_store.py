"""The store of a program: what it opens, creates and finds, and what its options change."""

from __future__ import annotations

import pytest

import scopes
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.importers.formats.pi import NAME
from tests.importers.formats.test_pi import MESSAGES, session_file
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]
FAST = {"scopes.durability": "fast"}


@pytest.fixture
def opened(tmp_path):
    with scopes.open_store(tmp_path / "new.git", create=True, settings=FAST, author="carol") as store:
        yield store


def test_a_store_is_created_only_if_asked_for(tmp_path):
    with pytest.raises(NotFound):
        scopes.open_store(tmp_path / "none.git")
    assert not (tmp_path / "none.git").exists()
    with scopes.open_store(tmp_path / "none.git", create=True) as store:
        assert (store.path, list(store.conversations()), store.notes) == (str(tmp_path / "none.git"), [], ())


def test_creating_a_store_that_exists_opens_it(opened):
    opened.new(id="kept")
    with scopes.open_store(opened.path, create=True, settings=FAST) as again:
        assert [each.id for each in again.conversations()] == ["kept"]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([None, None], ["conv-001", "conv-002"]),
        (["b", "a"], ["a", "b"]),
        (["conv-007", None], ["conv-007", "conv-008"]),
    ],
)
def test_a_conversation_without_an_id_gets_the_next_number(opened, ids, expected):
    for each in ids:
        opened.new(id=each)
    assert [conversation.id for conversation in opened.conversations()] == expected


@pytest.mark.parametrize("name", ["a/b", "", ".hidden", "a..b", "x" * 300, "con\x00v", "@"])
def test_an_id_that_is_no_name_is_invalid(opened, name):
    with pytest.raises(Invalid):
        opened.new(id=name)
    assert list(opened.conversations()) == []


def test_an_id_that_is_taken_is_refused(opened):
    opened.new(id="one")
    with pytest.raises(Refused, match="conversation one already exists"):
        opened.new(id="one")


def test_a_new_conversation_has_its_title_and_participants(opened):
    made = opened.new("Fix the login", participants=["dave", "erin"])
    row = opened.list().conversations[0]
    assert (made.title, row.title, set(row.participants)) == ("Fix the login", "Fix the login", {"dave", "erin"})


def test_a_branch_is_named_in_one_word_or_in_two(opened):
    made = opened.new(id="one")
    made.append("Hi.")
    names = [opened.branch("one"), opened.branch("one/main"), opened.branch("one", "ma"), opened.branch("o/m")]
    assert {(branch.conversation.id, branch.name) for branch in names} == {("one", "main")}
    with pytest.raises(NotFound):
        opened.branch("one/other")


def test_a_prefix_of_two_conversations_is_ambiguous(opened):
    opened.new(id="one-a")
    opened.new(id="one-b")
    with pytest.raises(Ambiguous, match="one-a, one-b"):
        opened.conversation("one")


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, {"tea one", "tea two", "tea three"}),
        ({"conversation": "b"}, {"tea three"}),
        ({"limit": 1, "newest_first": True}, {"tea three"}),
        ({"limit": 0}, set()),
    ],
)
def test_a_search_is_limited_to_a_conversation_and_a_number(opened, options, texts):
    first, second = opened.new(id="a"), opened.new(id="b")
    for conversation, text in ((first, "tea one"), (first, "tea two"), (second, "tea three"), (second, "coffee")):
        conversation.append(text)
    assert {hit.head.subject for hit in opened.search("tea", **options).hits} == texts


def test_a_transcript_is_imported_unless_it_is_a_dry_run(opened, tmp_path):
    (tmp_path / "session.jsonl").write_bytes(session_file(*MESSAGES))
    tried = opened.import_file(tmp_path, dry_run=True)
    assert (tried.dry_run, tried.operation, list(opened.conversations())) == (True, None, [])
    done = opened.import_file(tmp_path)
    assert [(source.format, source.messages) for source in done.sources] == [(NAME, 4)]
    assert opened.import_file(tmp_path / "session.jsonl").operation is None


def test_an_undo_is_tried_before_it_is_done(opened):
    made = opened.new(id="one")
    made.append("Hi.")
    opened.undo(dry_run=True)
    assert [message.text for message in made.log()] == ["Hi."]
    opened.undo()
    assert list(made.log()) == []
    opened.redo()
    assert [message.text for message in made.log()] == ["Hi."]
