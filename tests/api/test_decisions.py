"""Decisions in a program: listed, found in texts, accepted and withdrawn as on the command line."""

from __future__ import annotations

import pytest

import scopes


@pytest.fixture
def decided(conversation):
    """A conversation with a decision on each branch, and a message with two sentences that state one."""
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    conversation.append_typed("fix", "decision", {"topic": "cache", "decision": "none"}, "bob")
    conversation.message = conversation.append("main", "We decided to use tabs. We agreed on pytest.")
    return conversation


def test_decisions_of_all_branches_or_of_one_are_listed(decided, same):
    listed = same(("decisions", decided.id), lambda talk: talk.decisions())
    assert {row.topic: row.state for row in listed.decisions} == {"db": "in-effect", "cache": "other-branch"}
    listed = same(("decisions", f"{decided.id}/fix"), lambda talk: talk.decisions("fix"))
    assert [(row.topic, row.state) for row in listed.decisions] == [("cache", "in-effect")]


def test_candidates_are_listed_and_are_no_decisions(decided, same):
    found = same(("decisions", decided.id, "--candidates"), lambda talk: talk.decision_candidates())
    assert [(each.id, each.text) for each in found.candidates] == [
        (f"{decided.message}.1", "We decided to use tabs."),
        (f"{decided.message}.2", "We agreed on pytest."),
    ]
    found = same(("decisions", f"{decided.id}/fix", "--candidates"), lambda talk: talk.decision_candidates("fix"))
    assert found.candidates == ()


def test_a_candidate_is_accepted_as_on_the_command_line(decided, same):
    name = f"{decided.message[:8]}.1"
    made = same(
        ("decisions", decided.id, "--accept", name, "--topic", "indentation", "--as", "erin"),
        lambda talk: talk.accept_decision(name, topic="indentation", author="erin"),
    )
    assert isinstance(made, scopes.DecisionAccepted)
    assert (made.topic, made.candidate.id, made.branch) == ("indentation", f"{decided.message}.1", "main")


def test_an_accepted_candidate_goes_to_the_branch_that_is_named(decided, talk):
    made = talk.accept_decision(f"{decided.message}.2", branch="fix")
    assert made.branch == "fix"
    assert [row.topic for row in talk.decisions("fix").decisions] == ["cache", made.topic]
    assert next(talk.log("fix")).author == ("user", "human")


def test_accepting_is_undone(decided, store, talk):
    both = [each.id for each in talk.decision_candidates().candidates]
    talk.accept_decision(both[1])
    assert [each.id for each in talk.decision_candidates().candidates] == both[:1]
    store.undo()
    assert [each.id for each in talk.decision_candidates().candidates] == both


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_decision_is_withdrawn_as_on_the_command_line(decided, same, dry_run):
    words = ("decisions", decided.id, "--withdraw", "DB", "--reason", "too slow", "--as", "erin")
    gone = same(
        (*words, *(("--dry-run",) if dry_run else ())),
        lambda talk: talk.withdraw_decision("DB", "too slow", author="erin", dry_run=dry_run),
    )
    assert (gone.topic, gone.decisions, gone.id is None) == ("db", ("SQLite",), dry_run)
    (row,) = decided.run("decisions", f"{decided.id}/main", "--json")["decisions"]
    assert row["state"] == ("in-effect" if dry_run else "withdrawn")


def test_a_decision_of_another_branch_is_withdrawn_there(decided, talk):
    assert talk.withdraw_decision("cache", branch="fix").branch == "fix"
    assert [row.state for row in talk.decisions("fix").decisions] == ["withdrawn"]


REFUSED = {
    "a branch that does not exist": lambda talk: talk.decisions("none"),
    "candidates of a branch that does not exist": lambda talk: talk.decision_candidates("none"),
    "an unknown candidate": lambda talk: talk.accept_decision("ffff.1"),
    "a topic without a decision": lambda talk: talk.withdraw_decision("nothing"),
    "a topic of another branch": lambda talk: talk.withdraw_decision("cache"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_exist_is_an_exception_and_writes_nothing(decided, talk, case):
    before = decided.texts()
    with pytest.raises(scopes.NotFound):
        REFUSED[case](talk)
    assert decided.texts() == before


def test_a_prefix_of_several_candidates_is_ambiguous(decided, talk):
    with pytest.raises(scopes.Ambiguous, match="matches 2 candidates"):
        talk.accept_decision(decided.message)
