"""`decisions`: decisions with author, time and message (S1-29)."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, rewind, switch
from scopes.conversation.decisions import decisions, withdraw_decision
from scopes.conversation.merge import merge
from scopes.conversation.show import cat
from scopes.errors import NotFound
from tests.support.history import history, say


def decide(repository, topic, decision, where="conv-001", author="carol", **fields):
    document = {"topic": topic, "decision": decision}
    return say(repository, where, f"{topic}: {decision}", author=author, kind="decision", decision=document, **fields)


def rows(repository):
    return [(row.topic, row.decision, row.current) for row in decisions(repository, "conv-001").decisions]


def test_a_decision_is_listed_with_commit_date_and_agent(repository):
    """S1-29."""
    history(repository, "main: a")
    appended = decide(repository, "storage", "sqlite", author="dave", time="2026-02-01T12:00:00Z")
    [row] = decisions(repository, "conv").decisions
    assert (row.topic, row.decision, row.current) == ("storage", "sqlite", True)
    assert (row.head.oid, row.head.id, row.head.author) == (appended.oid, appended.id, "dave")
    assert cat(repository, row.head.oid[:8]).message.time == "2026-02-01T12:00:00Z"


def test_only_decisions_are_listed_oldest_first(repository):
    history(repository, "main: a")
    decide(repository, "storage", "sqlite")
    say(repository, "conv-001", "we decided nothing else")
    decide(repository, "licence", "MIT")
    assert rows(repository) == [("storage", "sqlite", True), ("licence", "MIT", True)]


def test_a_later_decision_on_the_same_topic_replaces_the_first(repository):
    history(repository, "main: a")
    decide(repository, "storage", "sqlite")
    decide(repository, "storage", "git")
    assert rows(repository) == [("storage", "sqlite", False), ("storage", "git", True)]


def test_a_repeated_decision_is_current_in_both_rows(repository):
    history(repository, "main: a")
    for author in ("carol", "dave"):
        decide(repository, "storage", "git", author=author)
    assert rows(repository) == [("storage", "git", True), ("storage", "git", True)]


def test_a_decision_is_current_if_the_active_branch_has_it(repository):
    history(repository, "main: a", "fix:")
    decide(repository, "storage", "git", where="conv-001/main")
    decide(repository, "storage", "sqlite", where="conv-001/fix")
    assert rows(repository) == [("storage", "git", True), ("storage", "sqlite", False)]
    switch(repository, "conv-001", "fix")
    assert rows(repository) == [("storage", "git", False), ("storage", "sqlite", True)]


def test_a_rewound_decision_is_not_listed(repository):
    history(repository, "main: a")
    decide(repository, "storage", "git")
    rewind(repository, "conv-001")
    assert rows(repository) == []


@pytest.mark.parametrize("topic", ["a/b", "a b", ".git", "日本", "x" * 1000, "100%", "a=", "\x1b"])
def test_a_topic_may_be_any_text(repository, topic):
    history(repository, "main: a")
    decide(repository, topic, "yes")
    assert rows(repository) == [(topic, "yes", True)]


def test_an_empty_conversation_has_no_decisions_and_an_unknown_one_is_refused(repository):
    history(repository, "main: a")
    assert decisions(repository, "conv-001").decisions == ()
    with pytest.raises(NotFound):
        decisions(repository, "nope")


def test_a_decision_on_another_branch_only_is_not_superseded(repository):
    history(repository, "main: a", "fix:")
    decide(repository, "storage", "git", where="conv-001/main")
    decide(repository, "storage", "sqlite", where="conv-001/fix")
    decide(repository, "storage", "files", where="conv-001/fix")
    found = decisions(repository, "conv-001").decisions
    assert [(row.decision, row.state, row.branches) for row in found] == [
        ("git", "in-effect", ()),
        ("sqlite", "superseded", ()),
        ("files", "other-branch", ("fix",)),
    ]
    assert [row.state for row in decisions(repository, "conv-001/fix").decisions] == ["superseded", "in-effect"]


def states(repository, where="conv-001"):
    return [(row.decision, row.state) for row in decisions(repository, where).decisions]


def test_a_withdrawn_decision_is_not_superseded(repository):
    """It was listed as superseded by a later one, and there was none."""
    history(repository, "main: a")
    decide(repository, "db", "sqlite")
    decide(repository, "db", "pg")
    decide(repository, "cache", "redis")
    withdraw_decision(repository, "conv-001", "DB", author="carol")
    assert states(repository) == [("sqlite", "superseded"), ("pg", "withdrawn"), ("redis", "in-effect")]
    decide(repository, "db", "my")
    assert states(repository)[1:] == [("pg", "withdrawn"), ("redis", "in-effect"), ("my", "in-effect")]
    decide(repository, "db", "h2")
    assert states(repository)[1::2] == [("pg", "withdrawn"), ("my", "superseded")]


def test_a_retracted_decision_is_withdrawn_and_the_one_before_is_in_effect(repository):
    history(repository, "main: a")
    decide(repository, "db", "sqlite")
    wrong = decide(repository, "db", "pg")
    retract(repository, "conv-001", wrong.id, "", author="carol")
    assert states(repository) == [("sqlite", "in-effect"), ("pg", "withdrawn")]
    withdraw_decision(repository, "conv-001", "db", author="carol")
    assert states(repository) == [("sqlite", "withdrawn"), ("pg", "withdrawn")]


def test_a_decision_amended_to_plain_text_is_withdrawn_and_one_amended_to_another_is_superseded(repository):
    history(repository, "main: a")
    first, second = decide(repository, "db", "sqlite"), decide(repository, "cache", "redis")
    amend(repository, "conv-001", first.id, "never mind", author="carol")
    document = {"topic": "cache", "decision": "none"}
    amend(repository, "conv-001", second.id, "none", author="carol", data=document)
    assert states(repository) == [("sqlite", "withdrawn"), ("redis", "superseded"), ("none", "in-effect")]


def test_a_decision_withdrawn_on_another_branch_is_in_effect_on_the_active_one(repository):
    history(repository, "main: a")
    decide(repository, "db", "sqlite")
    branch(repository, "conv-001", name="fix", switch=False)
    withdraw_decision(repository, "conv-001", "db", author="carol", branch="fix")
    assert states(repository) == [("sqlite", "in-effect")]
    assert states(repository, "conv-001/fix") == [("sqlite", "withdrawn")]
    decide(repository, "cache", "redis", where="conv-001/fix")
    withdraw_decision(repository, "conv-001", "cache", author="carol", branch="fix")
    assert states(repository) == [("sqlite", "in-effect"), ("redis", "withdrawn")]


def test_one_decision_in_two_spellings_is_one_row_in_the_later_one(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "Database", "SQLite", where="conv-001/main")
    decide(repository, "database ", "SQLite", where="conv-001/fix")
    merge(repository, "conv-001", "fix", target="main")
    found = decisions(repository, "conv-001/main").decisions
    assert [(row.topic, row.state) for row in found] == [("database ", "in-effect")]


def test_a_decision_in_another_spelling_on_another_branch_is_in_effect_there(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "Database", "SQLite", where="conv-001/main")
    decide(repository, "database", "files", where="conv-001/fix")
    switch(repository, "conv-001", "main")
    found = decisions(repository, "conv-001").decisions
    assert [(row.topic, row.state) for row in found] == [("Database", "in-effect"), ("database", "other-branch")]


def test_an_open_conflict_about_a_decision_is_a_note(repository):
    """Until somebody has decided, the later decision is not superseded by the earlier one."""
    history(repository, "main: a", "idea: b")
    for name, value in (("main", "sqlite"), ("idea", "mysql")):
        decide(repository, "auth", value, where=f"conv/{name}")
    merge(repository, "conv", "idea", target="main")
    (note,) = decisions(repository, "conv").notes
    assert note.text.startswith("the conflict about decisions/auth is open")
    assert decisions(repository, "conv/idea").notes == ()
