"""`decisions withdraw`: a decision is withdrawn by its topic (M5)."""

from __future__ import annotations

import pytest

from scopes.conversation.append import retract
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.decisions import decisions, withdraw_decision
from scopes.conversation.merge import MergeConflicted, Merged, merge
from scopes.conversation.undo import undo
from scopes.errors import Invalid, NotFound
from scopes.history.messages import read_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from tests.support.decisions import decide, decided
from tests.support.history import history
from tests.support.store import assert_sound

CAROL = Author("carol")


@pytest.fixture
def db(repository):
    """A conversation with two decisions on db, one after the other."""
    history(repository, "main: a")
    decide(repository, "conv-001/main", "sqlite", topic="db")
    decide(repository, "conv-001/main", "pg", topic="db")
    return repository


def current(repository):
    return [row.decision for row in decisions(repository, "conv-001").decisions if row.current]


@pytest.mark.parametrize("topic", ["db", "DB", " Db "])
def test_a_topic_has_no_decision_after_it_was_withdrawn(db, topic):
    """M5; the decision before does not take its place."""
    done = withdraw_decision(db, "conv-001", topic, reason="too slow", author=CAROL)
    assert (done.topic, done.decisions, current(db), decided(db, "conv-001/main")) == ("db", ("pg",), [], [])
    message = read_message(db, done.oid)
    assert (message.kind, message.text, message.author.name) == ("notice", "too slow", "carol")
    assert_sound(db)


def test_a_dry_run_withdraws_nothing(db):
    before = list_branch_tips(db, "conv-001")
    done = withdraw_decision(db, "conv-001", "db", author=CAROL, dry_run=True)
    assert (done.id, done.decisions, list_branch_tips(db, "conv-001")) == (None, ("pg",), before)


def test_a_withdrawal_is_undone(db):
    withdraw_decision(db, "conv-001", "db", author=CAROL)
    undo(db, any_actor=True)
    assert current(db) == ["pg"]


@pytest.mark.parametrize(("topic", "error"), [("cache", NotFound), ("", Invalid), (" ", Invalid)])
def test_a_topic_without_a_decision_is_refused(db, topic, error):
    with pytest.raises(error):
        withdraw_decision(db, "conv-001", topic, author=CAROL)


def test_a_decision_is_withdrawn_once(db):
    withdraw_decision(db, "conv-001", "db", author=CAROL)
    with pytest.raises(NotFound):
        withdraw_decision(db, "conv-001", "db", author=CAROL)


def test_a_decision_after_a_withdrawal_that_is_retracted_leaves_none(db):
    withdraw_decision(db, "conv-001", "db", author=CAROL)
    later = decide(db, "conv-001/main", "my", topic="db")
    assert current(db) == ["my"]
    retract(db, "conv-001", later.id, "", author=CAROL)
    assert current(db) == []


@pytest.mark.parametrize(("source", "target"), [("fix", "main"), ("main", "fix")])
def test_a_withdrawal_disagrees_with_another_decision(db, source, target):
    branch(db, "conv-001", name="fix", start="main", switch=False)
    withdraw_decision(db, "conv-001", "db", author=CAROL, branch="main")
    decide(db, "conv-001/fix", "my", topic="db")
    assert isinstance(merge(db, "conv-001", source, target=target), MergeConflicted)
    take = "source" if source == "main" else "target"
    resolve_conflict(db, "conv-001", "1", take=take, author=CAROL)
    assert decided(db, "conv-001") == []


def test_a_withdrawal_on_one_side_only_is_merged(db):
    branch(db, "conv-001", name="fix", start="main", switch=False)
    withdraw_decision(db, "conv-001", "db", author=CAROL, branch="fix")
    decide(db, "conv-001/main", "x", topic="other")
    assert isinstance(merge(db, "conv-001", "fix", target="main"), Merged)
    assert decided(db, "conv-001/main") == ["x"]
