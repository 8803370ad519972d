"""What only undo reaches is purged, too: undone and rewound messages have no copy of what went for good."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend
from scopes.conversation.branch import rewind
from scopes.conversation.undo import undo
from scopes.errors import NotFound
from scopes.model.message import Author, Message, text_parts
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.purge.stored_messages import walk_named_messages, walk_stored_headers, walk_stored_messages
from scopes.search.query import text_matcher
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts

WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
def drawn(repository):
    return history(repository, "main: a b c")


def amend_b(repository, drawn, text, message="b"):
    name = drawn.ids.get(message, message)
    return amend(repository, drawn.conversation, name, text, author=Author("carol"))


def purge_b(repository, places, drawn):
    return purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids["b"],)), places)


@pytest.mark.parametrize("take_back", [undo, lambda store: rewind(store, "conv-001")])
def test_an_amendment_that_was_taken_back_goes_with_its_message(repository, places, drawn, take_back):
    amend_b(repository, drawn, f"the key is {WORD}")
    take_back(repository)
    done = purge_b(repository, places, drawn)
    assert find_word(WORD, repository.path) == []
    assert (done.messages, done.left) == (2, ())


def test_a_purged_amendment_stays_purged_when_the_undo_is_undone(repository, places, drawn):
    amend_b(repository, drawn, f"the key is {WORD}")
    undone = undo(repository)
    purge_b(repository, places, drawn)
    undo(repository, undone.operation)
    assert texts(repository, drawn.conversation) == ["a", "[purged]", "c", "[purged]"]
    assert find_word(WORD, repository.path) == []


def test_an_amendment_of_an_amendment_goes_too_when_both_were_rewound(repository, places, drawn):
    first = amend_b(repository, drawn, "better")
    amend_b(repository, drawn, f"the key is {WORD}", first.id)
    rewind(repository, drawn.conversation, count=2)
    assert purge_b(repository, places, drawn).messages == 3
    assert find_word(WORD, repository.path) == []


def test_a_plan_lists_what_only_undo_reaches(repository, places, drawn):
    made = amend_b(repository, drawn, f"the key is {WORD}")
    undo(repository)
    request = PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids["b"],))
    assert {each.message for each in plan_purge(repository, request, places).messages} == {drawn.ids["b"], made.id}


def write_env(repository, drawn):
    call = {"type": "tool_call", "call_id": "c1", "name": "Write", "input": {"file_path": ".env", "content": WORD}}
    return say(repository, drawn.conversation, "", author={"name": "claude", "kind": "agent"}, parts=[call])


@pytest.mark.parametrize("conversation", [None, "conv-001"])
def test_a_file_that_was_written_again_after_an_undo_goes_both_times(repository, places, drawn, conversation):
    write_env(repository, drawn)
    undo(repository)
    write_env(repository, drawn)
    done = purge(repository, PurgeRequest(conversation=conversation, file=".env"), places)
    assert (done.messages, done.left, done.exit_code) == (2, (), 0)
    assert find_word(WORD, repository.path) == []


def test_a_file_in_undone_messages_of_another_conversation_stays(repository, places, drawn):
    other = history(repository, "main: x")
    write_env(repository, other)
    undo(repository)
    write_env(repository, drawn)
    request = PurgeRequest(conversation=drawn.conversation, file=".env")
    assert len(plan_purge(repository, request, places).messages) == 1


def test_a_search_purges_undone_messages_with_the_word_too(repository, places, drawn):
    say(repository, drawn.conversation, f"another text with {WORD}")
    undo(repository)
    say(repository, drawn.conversation, f"{WORD} once more")
    assert purge(repository, PurgeRequest(query=f'"{WORD}"'), places).messages == 2
    assert find_word(WORD, repository.path) == []


def test_a_search_whose_only_hit_was_undone_purges_it(repository, places, drawn):
    say(repository, drawn.conversation, WORD)
    undo(repository)
    assert purge(repository, PurgeRequest(query=f'"{WORD}"'), places).messages == 1
    with pytest.raises(NotFound, match="the search finds no message"):
        purge(repository, PurgeRequest(query=f'"{WORD}"'), places)


def test_an_undone_message_with_the_same_text_is_named_and_can_be_purged(repository, places, drawn):
    say(repository, drawn.conversation, f"the key is {WORD}")
    undo(repository)
    again = say(repository, drawn.conversation, f"the key is {WORD}")
    done = purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(again.id,)), places)
    assert (done.left, len(done.copies)) == ((), 1)
    copy = done.copies[0]
    purge(repository, PurgeRequest(conversation=copy.conversation, messages=(copy.message,)), places)
    assert find_word(WORD, repository.path) == []


def test_stored_messages_are_those_of_branches_and_those_that_undo_reaches(repository, drawn):
    undone = say(repository, drawn.conversation, "undone")
    undo(repository)
    every = [each.head.id for each in walk_stored_messages(repository)]
    assert sorted(every) == sorted([*drawn.ids.values(), undone.id])
    assert [each.head.id for each in walk_stored_messages(repository, branches=False)] == [undone.id]
    headers = walk_stored_headers(repository, drawn.conversation, branches=False)
    assert [(root, head.id) for root, head in headers] == [(drawn.root, undone.id)]
    assert [(name, each.head.id) for name, each in walk_named_messages(repository)][-1] == ("conv-001", undone.id)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("word", True), ("other", False), ("word other", False), ("word OR other", True), ("-other", True),
        ('"the word"', True), ('"word the"', False), ("wor*", True), ("re:w.rd", True), ("re:w.x", False),
        ("word agent:bob", True), ("agent:bob", False), ("other OR agent:bob", False), ("-agent:bob", False),
        ("word -agent:bob", True), ("other agent:bob", False),
    ],
)  # fmt: skip
def test_a_query_is_tested_by_its_words_and_patterns(query, found):
    message = Message(
        id="m" * 26, author=Author("carol"), parts=text_parts("say the word twice"), kind="plain", time=None
    )
    assert text_matcher(query)(message) is found


def test_a_word_is_found_behind_a_million_characters():
    long = Message(
        id="m" * 26, author=Author("carol"), parts=text_parts("x " * 700_000 + WORD), kind="plain", time=None
    )
    assert text_matcher(f'"{WORD}"')(long)
