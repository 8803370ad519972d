"""The turns of a conversation, counted along the history of each message."""

from __future__ import annotations

import pytest

from scopes.code_links.turns import begins_turn, list_turn_messages, messages_of_turn
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from tests.support.store import make_store

USER, AGENT = Author("carol", "human"), Author("claude", "agent")


@pytest.fixture
def repository(tmp_path):
    made = make_store(tmp_path / "store.git")
    new(made, conversation_id="conv-001")
    return made


def say(repository, author, kind, text="text", on="main"):
    return append(repository, "conv-001", plain_message(author, text, kind=kind), branch=on).id


def turns_of(repository):
    return list_turn_messages(repository, list_branch_tips(repository, "conv-001").values())


def test_a_turn_is_a_prompt_and_what_follows_it(repository):
    begin = say(repository, AGENT, "answer")
    ids = [
        say(repository, *each) for each in ((USER, "prompt"), (AGENT, "answer"), (USER, "prompt"), (AGENT, "answer"))
    ]
    turns = turns_of(repository)
    assert [(each.head.id, each.number) for each in turns] == [(begin, 0), *zip(ids, (1, 1, 2, 2), strict=True)]
    assert messages_of_turn(turns, ids[1]) == ids[:2]
    assert messages_of_turn(turns, ids[2]) == ids[2:]
    assert messages_of_turn(turns, begin) == [begin]


def test_a_branch_goes_on_counting_where_it_began(repository):
    first = say(repository, USER, "prompt")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    on_main, on_fix = say(repository, USER, "prompt"), say(repository, USER, "prompt", on="fix")
    numbers = {each.head.id: each.number for each in turns_of(repository)}
    assert numbers == {first: 1, on_main: 2, on_fix: 2}
    assert messages_of_turn(turns_of(repository), on_fix) == [on_fix]


def test_a_turn_in_which_a_branch_began_has_the_messages_of_both(repository):
    first = say(repository, USER, "prompt")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    on_main, on_fix = say(repository, AGENT, "answer"), say(repository, AGENT, "answer", on="fix")
    assert set(messages_of_turn(turns_of(repository), first)) == {first, on_main, on_fix}


@pytest.mark.parametrize(
    ("author", "kind", "text", "begins"),
    [
        (USER, "prompt", "x", True), (USER, "plain", "x", True), (AGENT, "prompt", "x", False), (AGENT, "answer", "x", False),
        (USER, "notice", "x", False), (USER, "meta", "<command-name>/x", True), (USER, "meta", "x", False),
        (Author("hook", "injected"), "prompt", "x", False),
    ],
)  # fmt: skip
def test_who_begins_a_turn(repository, author, kind, text, begins):
    say(repository, author, kind, text)
    assert [begins_turn(each.head) for each in turns_of(repository)] == [begins]


def test_a_message_that_is_not_there_is_in_no_turn(repository):
    say(repository, USER, "prompt")
    assert messages_of_turn(turns_of(repository), "nowhere") == []
