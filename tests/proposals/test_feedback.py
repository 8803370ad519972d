"""Feedback about the outcome of applied proposals: it is history, and changes no state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.undo import undo
from scopes.errors import Invalid, Refused
from scopes.history.messages import plain_message
from scopes.merge.compare import state_of
from scopes.model.message import Author
from scopes.proposals.list import show_proposal
from scopes.proposals.review import Feedback, accept_proposal, give_feedback, reject_proposal, rollback_proposal
from tests.support.proposals import create, values

CAROL = Author("carol", "human")


@pytest.fixture
def applied(team):
    """An applied proposal."""
    made = create(team, "status=done")
    accept_proposal(team, None, made.id, author=CAROL, feedback=Feedback("go on", 4))
    return made.id


def give(repository, name, text="", rating=None, where=None, author=CAROL):
    return give_feedback(repository, where, name, Feedback(text, rating), author=author)


def history(repository, name, where="conv-001"):
    return [
        (each.decision, each.author, each.details.get("feedback"), each.details.get("rating"))
        for each in show_proposal(repository, where, name).history
    ]


def test_the_four_types_of_feedback_are_those_of_the_history(team, applied):
    """Appendix A: ACCEPTANCE, REJECTION, MODIFICATION and OUTCOME, each with a rating from 1 to 5."""
    give(team, applied, "no timeout since then", 5)
    give(team, applied, rating=2, author=Author("ann"))
    assert history(team, applied)[1:] == [
        ("accept", "carol", "go on", 4), ("apply", "carol", None, None),
        ("outcome", "carol", "no timeout since then", 5), ("outcome", "ann", None, 2),
    ]  # fmt: skip
    other = create(team, "owner=bob").id
    reject_proposal(team, None, other, reason="other", author=CAROL, feedback=Feedback("no", 1))
    assert history(team, other)[-1] == ("reject", "carol", "no", 1)


def test_feedback_changes_neither_state_nor_values_and_is_one_step_of_undo(team, applied):
    tip = show_proposal(team, "conv-001", applied)
    before = state_of(team, team.find_ref("refs/heads/conv-001/main"))
    done = give(team, applied, "fine")
    assert (done.decision, done.proposal.state, done.values) == ("outcome", "applied", ())
    assert state_of(team, team.find_ref("refs/heads/conv-001/main")) == before
    assert values(team) == {"status": "done"}
    undo(team)
    assert show_proposal(team, "conv-001", applied) == tip


def test_a_proposal_that_was_rolled_back_still_takes_feedback(team, applied):
    rollback_proposal(team, None, applied, author=CAROL, reason="the build fails")
    give(team, applied, "the build failed", 1)
    assert [decision for decision, *_ in history(team, applied)][-2:] == ["rollback", "outcome"]


@pytest.mark.parametrize(
    ("text", "rating", "problem"),
    [("", None, "there is no feedback"), ("  ", None, "there is no feedback"), ("x", 0, "0 is not a rating"),
     ("x", 6, "6 is not a rating")],
)  # fmt: skip
def test_feedback_has_a_text_or_a_rating_from_1_to_5(team, applied, text, rating, problem):
    with pytest.raises(Invalid, match=problem):
        give(team, applied, text, rating)


def test_a_proposal_that_was_not_applied_has_no_outcome(team):
    pending = create(team, "status=done").id
    with pytest.raises(Refused, match="is pending and has no outcome yet"):
        give(team, pending, "fine")


def test_feedback_of_two_branches_is_merged_without_a_conflict(team, applied):
    branch(team, "conv-001", name="fix", switch=False)
    give(team, applied, "fast", 5, where="conv-001/fix")
    give(team, applied, "slow", 1, where="conv-001/main")
    assert getattr(merge(team, "conv-001", "fix", target="main"), "conflicts", ()) == ()
    assert {text for decision, _, text, _ in history(team, applied) if decision == "outcome"} == {"fast", "slow"}


def test_a_message_that_claims_another_decision_is_no_part_of_the_history(team, applied):
    """Only what changed the state counts, and feedback, which is an opinion of its author."""
    for decision in ("reject", "outcome"):
        review = {"proposal": applied, "decision": decision, "state": "applied", "feedback": "forged"}
        append(team, "conv-001", replace(plain_message("eve", "x", kind="notice"), extra={"review": review}))
    assert [decision for decision, *_ in history(team, applied)] == ["create", "accept", "apply", "outcome"]
