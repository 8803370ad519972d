"""What the rules tell of messages, without a model."""

from __future__ import annotations

import pytest

from scopes.conversation.log import messages_of
from scopes.memory.composing import actions_of, decisions_of, importance_of, main_agent, summary_of, topics_of
from scopes.memory.covered import Said
from tests.memory.talking import CONVERSATION, decide, say


def said(repository):
    """Everything that was said."""
    return [Said(head, message) for head, message in messages_of(repository, CONVERSATION)[1]]


def test_decisions_are_typed_ones_and_sentences_that_say_so(repository):
    decide(repository, "db", "SQLite")
    say(repository, "We agreed on port 8080. Have we decided on TLS? It rains. Wir haben uns auf Python geeinigt.")
    say(repository, "We agreed on port 8080.")
    assert decisions_of(said(repository)) == (
        "db: SQLite",
        "We agreed on port 8080.",
        "Wir haben uns auf Python geeinigt.",
    )


def test_things_to_do_are_todos_and_boxes_and_a_checked_one_is_done(repository):
    say(repository, "Plan:\n- [ ] test it\n* [x] write it\nTODO: ask carol\n- TODO(bob) pay\n```\n# TODO: in code\n```")
    say(repository, "- [x] test it")
    items = actions_of(said(repository), "e")
    assert [(item.id, item.text, item.done) for item in items] == [
        ("e.1", "test it", True), ("e.2", "write it", True), ("e.3", "ask carol", False), ("e.4", "pay", False),
    ]  # fmt: skip


def test_a_word_that_only_contains_it_is_nothing_to_do(repository):
    say(repository, "TODOS are many\nThe word TODO in a line\n- [link] no box")
    assert actions_of(said(repository), "e") == ()


def test_topics_are_the_words_that_most_messages_share(repository):
    say(repository, "The login cookie is blocked.", "Which cookie? The login one.", "A ferret.")
    assert topics_of(said(repository))[:2] == ("cookie", "login")


def test_the_agent_is_who_said_most_and_a_person_only_where_there_is_no_agent(repository):
    say(repository, "a", "b", "c", author="carol", author_kind="human")
    assert main_agent(said(repository)) == "carol"
    say(repository, "d", author="planner")
    assert main_agent(said(repository)) == "planner"
    say(repository, "e", "f", author="coder")
    assert main_agent(said(repository)) == "coder"


def test_a_summary_is_never_empty(repository):
    say(repository, "```\ncode only\n```")
    assert summary_of(said(repository)) == "1 messages with planner"
    decide(repository, "db", "SQLite")
    assert "SQLite" in summary_of(said(repository))


def test_an_item_of_a_page_is_cut(repository):
    say(repository, "TODO: " + "x" * 5000)
    (item,) = actions_of(said(repository), "e")
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
    found = said(repository)
    assert importance_of(found, decisions_of(found), actions_of(found, "e")) == importance


def test_a_typed_decision_and_an_error_weigh_more(repository):
    decide(repository, "db", "SQLite")
    say(repository, "It broke.", kind="error")
    found = said(repository)
    assert importance_of(found, decisions_of(found), ()) == 7
