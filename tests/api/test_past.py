"""A store as of an earlier operation: every method that reads shows that state, and none writes."""

from __future__ import annotations

import os

import pytest

import scopes
from tests.render.rendering import document
from tests.support.store import files_of

READS = {
    ("show", "conv-001"): lambda _store, talk: talk.show(),
    ("decisions", "conv-001"): lambda _store, talk: talk.decisions(),
    ("files", "conv-001"): lambda _store, talk: talk.files(),
    ("tag", "conv-001"): lambda _store, talk: talk.tags(),
    ("conflicts", "list"): lambda store, _talk: store.conflicts(),
    ("conflicts", "list", "conv-001", "--all"): lambda _store, talk: talk.conflicts(include_all=True),
    ("mr", "list"): lambda store, _talk: store.merge_requests(),
    ("diff", "conv-001", "main", "fix"): lambda _store, talk: talk.diff("main", "fix"),
    ("range-diff", "conv-001", "main", "fix"): lambda _store, talk: talk.range_diff("main", "fix"),
}
WRITES = {
    "append": lambda _store, talk: talk.append("x"),
    "tag": lambda _store, talk: talk.tag("v3"),
    "create_branch": lambda _store, talk: talk.create_branch("x"),
    "merge": lambda _store, talk: talk.merge("fix", target="main"),
    "open_merge_request": lambda _store, talk: talk.open_merge_request("fix", "x"),
    "withdraw_decision": lambda _store, talk: talk.withdraw_decision("db"),
    "new": lambda store, _talk: store.new("x"),
    "undo": lambda store, _talk: store.undo(),
}


@pytest.fixture
def changed(conversation):
    """A conversation with decisions and a tag, after which nearly everything was changed."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    conversation.run("tag", "conv-001", "v1")
    conversation.operation = conversation.run("operations", "-a", "--json")["operations"][0]["id"]
    conversation.append("main", "a later parser error", "--data", '{"files": [{"op": "edit", "path": "a.py"}]}')
    conversation.run("tag", "conv-001", "v2")
    conversation.run("mr", "open", "conv-001", "--source", "fix", "--title", "Files")
    conversation.merge(code=3)
    conversation.run("new", "another")
    return conversation


@pytest.fixture
def past(changed, open_again):
    return open_again(at_operation=changed.operation)


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_what_is_read_is_what_the_command_line_reads_at_that_operation(changed, past, words):
    code = int(words[0] in {"diff", "range-diff"})
    printed = changed.run(*words, "--at", changed.operation, "--json", code=code)
    assert document(READS[words](past, past.conversation("conv-001"))) == printed


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_the_store_of_now_is_not_affected(changed, past, store, words):
    code = int(words[0] in {"diff", "range-diff"})
    READS[words](past, past.conversation("conv-001"))
    talk = store.conversation("conv-001")
    assert document(READS[words](store, talk)) == changed.run(*words, "--json", code=code)


def test_messages_and_conversations_of_that_time_are_found(past, store):
    assert "a later parser error" not in [message.text for message in past.conversation("conv-001").log("main")]
    assert [each.id for each in past.conversations()] == ["conv-001"]
    assert [row.id for row in past.list().conversations] == ["conv-001"]
    assert [row.id for row in store.list().conversations] == ["conv-002", "conv-001"]


def test_a_search_in_the_past_uses_an_index_of_its_own(changed, past, store):
    assert store.search("parser").coverage.shown == 1
    before = files_of(os.path.expanduser("~"))
    assert past.search("parser").coverage.shown == 0
    assert past.search("shall").coverage.shown == 1
    assert files_of(os.path.expanduser("~")) == before
    assert store.search("parser").coverage.shown == 1


@pytest.mark.parametrize("verb", WRITES)
def test_nothing_can_be_written_in_the_past(changed, past, verb):
    before = files_of(changed.store)
    with pytest.raises(scopes.Refused, match="an earlier state of the store can only be read"):
        WRITES[verb](past, past.conversation("conv-001"))
    assert files_of(changed.store) == before


@pytest.mark.parametrize(
    ("name", "conversations"), [("@", 2), ("@-", 1), ("@{1}", 1), ("now", 2), ("100 years ago", 0)]
)
def test_a_point_is_named_by_position_or_time_as_on_the_command_line(changed, open_again, name, conversations):
    assert len(open_again(at_operation=name).conversations()) == conversations


def test_a_store_before_its_first_operation_has_the_note_of_the_command_line(changed, open_again):
    (note,) = open_again(at_operation="100 years ago").notes
    assert note.text.startswith("nothing was in the store then: its first operation is from 20")
    assert note.hint == "see: scopes op -a"
    assert open_again(at_operation="@").notes == open_again().notes == ()


def test_a_point_that_does_not_exist_is_not_found(changed, open_again):
    with pytest.raises(scopes.NotFound, match="no operation 'zzzz'"):
        open_again(at_operation="zzzz")


def test_a_closed_store_still_shows_the_past(past):
    past.close()
    assert [each.id for each in past.conversations()] == ["conv-001"]
