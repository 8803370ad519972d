"""The rules that extract decisions, action items, topics and summaries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.history.handles import resolve_scope, walk_messages
from scopes.history.messages import plain_message
from scopes.memory.extraction import actions_of, decisions_of, importance_of, main_agent, summary_of
from scopes.memory.source_messages import SourceMessage
from scopes.memory.topics import topics_of
from scopes.model.message import Part
from tests.memory.talking import CONVERSATION, decide, say


def sources(repository):
    """Return all messages of the conversation."""
    return [
        SourceMessage(head, message)
        for head, message in walk_messages(repository, resolve_scope(repository, CONVERSATION))
    ]


def test_decisions_are_typed_decisions_and_stated_ones(repository):
    decide(repository, "db", "SQLite")
    say(repository, "We agreed on port 8080. Have we decided on TLS? It rains. Wir haben uns auf Python geeinigt.")
    say(repository, "We agreed on port 8080.")
    assert decisions_of(sources(repository)) == (
        "db: SQLite",
        "We agreed on port 8080.",
        "Wir haben uns auf Python geeinigt.",
    )


@pytest.mark.parametrize(
    "text",
    [
        "Agreed, that placement reads better.", "It is not decided yet.", "That is to be decided.",
        "Has anybody decided on TLS?", "See:\n```\nwe decided on code\n```",
        "The relay decision tree has four branches.", "We could use SQLite instead of files.",
    ],
)  # fmt: skip
def test_sentences_that_only_sound_like_a_decision_are_not(repository, text):
    say(repository, text)
    say(repository, text, author="carol", author_kind="human")
    assert decisions_of(sources(repository)) == ()


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("ok, let's use SQLite then", True), ("Yes, let\u2019s go with option 1.", True),
        ("Please use the gift card.", True), ("let's not use threads", True), ("let's use it", False),
        ("let's go with that", False), ("Should we use SQLite?", False), ("You can use SQLite.", False),
    ],
)  # fmt: skip
def test_a_choice_of_a_person_is_a_decision(repository, text, decided):
    """From real conversations; by an agent the same words are a proposal."""
    say(repository, text)
    assert decisions_of(sources(repository)) == ()
    say(repository, text, author="carol", author_kind="human")
    assert decisions_of(sources(repository)) == ((text,) if decided else ())


def test_the_steps_of_a_todo_list_are_action_items(repository):
    """A to-do list replaces the last one of its author."""
    plan(repository, "todos", ("inspect", "completed"), ("a detour", "pending"))
    plan(repository, "plan", ("inspect", "completed"), ("build  it", "in_progress"), ("test it", "pending"))
    items = actions_of(sources(repository), "e")
    assert [(item.text, item.done) for item in items] == [("inspect", True), ("build it", False), ("test it", False)]


def plan(repository, field, *steps):
    """Append a tool call with a to-do list."""
    listed = [{"content" if field == "todos" else "step": text, "status": status} for text, status in steps]
    call = Part("tool_call", {"name": "Plan", "call_id": "1", "input": {field: listed}})
    append(repository, CONVERSATION, replace(plain_message("planner", ""), parts=(call,)))


def test_a_summary_begins_with_the_first_request_of_a_person(repository):
    say(repository, "Hi.", "Implement the following plan:\n# Cache the login form", author="carol", author_kind="human")
    say(repository, "The cache of the login form is in redis.", "The redis cache keeps the login form for a day.")
    assert summary_of(sources(repository)).splitlines()[0] == "Cache the login form"


def test_todos_and_check_boxes_are_action_items(repository):
    say(repository, "Plan:\n- [ ] test it\n* [x] write it\nTODO: ask carol\n- TODO(bob) pay\n```\n# TODO: in code\n```")
    say(repository, "- [x] test it")
    items = actions_of(sources(repository), "e")
    assert [(item.id, item.text, item.done) for item in items] == [
        ("e.1", "test it", True), ("e.2", "write it", True), ("e.3", "ask carol", False), ("e.4", "pay", False),
    ]  # fmt: skip


def test_a_todo_in_the_middle_of_a_line_and_the_word_action_begin_an_action_item(repository):
    """S0-12."""
    say(repository, "It works. TODO: ask carol\nAction: pay bob\n**Action item:** test it\n- TODO(bob): call")
    assert [item.text for item in actions_of(sources(repository), "e")] == ["ask carol", "pay bob", "test it", "call"]


def test_a_word_that_contains_todo_is_not_an_action_item(repository):
    say(repository, "TODOS are many\nThe word TODO in a line\n- [link] no box")
    assert actions_of(sources(repository), "e") == ()


def test_topics_are_the_most_shared_words(repository):
    say(repository, "The login cookie is blocked.", "Which cookie? The login one.", "A ferret.")
    assert topics_of(sources(repository))[:2] == ("cookie", "login")


def test_the_topic_of_a_typed_decision_is_a_topic_of_its_entry(repository):
    decide(repository, "Auth Flow", "use cookies")
    say(repository, "The auth flow is new. Cookies, cookies, cookies.")
    assert topics_of(sources(repository))[:3] == ("Auth Flow", "cookies", "auth")


def test_the_main_agent_has_the_most_messages_or_is_a_person(repository):
    say(repository, "a", "b", "c", author="carol", author_kind="human")
    assert main_agent(sources(repository)) == "carol"
    say(repository, "d", author="planner")
    assert main_agent(sources(repository)) == "planner"
    say(repository, "e", "f", author="coder")
    assert main_agent(sources(repository)) == "coder"


def test_a_summary_is_never_empty(repository):
    say(repository, "```\ncode only\n```")
    assert summary_of(sources(repository)) == "1 messages with planner"
    decide(repository, "db", "SQLite")
    assert "SQLite" in summary_of(sources(repository))


def test_a_very_long_item_is_cut(repository):
    say(repository, "TODO: " + "x" * 5000)
    (item,) = actions_of(sources(repository), "e")
    assert (len(item.text), item.text[-1]) == (500, "…")


@pytest.mark.parametrize(
    ("texts", "importance"),
    [
        (["Hello there."], 3),
        (["We agreed on it."], 5),
        (["TODO: it"], 4),
        (["We agreed.\nTODO: it"], 6),
        (["Hi."] * 20, 4),
    ],
)
def test_importance_follows_its_rule(repository, texts, importance):
    say(repository, *texts)
    found = sources(repository)
    assert importance_of(found, decisions_of(found), actions_of(found, "e")) == importance


def test_a_typed_decision_and_an_error_weigh_more(repository):
    decide(repository, "db", "SQLite")
    say(repository, "It broke.", kind="error")
    found = sources(repository)
    assert importance_of(found, decisions_of(found), ()) == 7
