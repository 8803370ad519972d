"""The message of a proposal is amended or retracted: the proposal is withdrawn, unless it was applied before."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.verify import verify
from scopes.errors import Refused
from scopes.proposals.list import list_proposals, show_proposal
from scopes.proposals.review import accept_proposal, rollback_proposal
from tests.support.proposals import CAROL, MOVES, create, states, values


@pytest.mark.parametrize("accepted", [False, True])
@pytest.mark.parametrize("verb", ["accept", "apply", "modify", "test", "reject"])
def test_what_was_amended_cannot_be_decided_about(team, verb, accepted):
    """It stayed accepted, and what the log did not show any more was applied."""
    made = create(team, "status=done")
    if accepted:
        accept_proposal(team, None, made.id, author=CAROL, apply=False)
    amend(team, "conv-001", made.id, "something else", author=CAROL)
    with pytest.raises(Refused, match=f"proposal {made.id[:8]} is withdrawn, because its message was amended, and "):
        MOVES[verb](team, made.id)
    assert (states(team), values(team)) == (["withdrawn"], {})
    assert list_proposals(team, "conv-001").proposals == ()


@pytest.mark.parametrize("accepted", [False, True])
@pytest.mark.parametrize("verb", ["accept", "apply", "modify", "test", "reject"])
def test_what_was_retracted_cannot_be_decided_about(team, verb, accepted):
    made = create(team, "status=done")
    if accepted:
        accept_proposal(team, None, made.id, author=CAROL, apply=False)
    retract(team, "conv-001", made.id, "a mistake", author=CAROL)
    with pytest.raises(Refused, match=f"proposal {made.id[:8]} is withdrawn, because its message was retracted, and "):
        MOVES[verb](team, made.id)
    assert (states(team), values(team)) == (["withdrawn"], {})
    assert list_proposals(team, "conv-001").proposals == ()


@pytest.mark.parametrize("withdraw", [amend, retract])
def test_what_was_applied_before_stays_listed_and_can_be_rolled_back(team, withdraw):
    """Its value stayed, it was in no list, and nothing could take it back."""
    made = create(team, "status=done")
    accept_proposal(team, None, made.id, author=CAROL)
    withdraw(team, "conv-001", made.id, "something else", author=CAROL)
    assert (states(team), values(team)) == (["applied"], {"status": "done"})
    assert show_proposal(team, None, made.id).proposal.state == "applied"
    rollback_proposal(team, None, made.id, author=CAROL)
    assert (states(team), values(team)) == (["applied"], {})
    assert verify(team).findings == ()


@pytest.mark.parametrize("withdraw", [amend, retract])
def test_what_was_rejected_stays_rejected(team, withdraw):
    made = create(team, "status=done")
    MOVES["reject"](team, made.id)
    withdraw(team, "conv-001", made.id, "something else", author=CAROL)
    assert states(team) == ["rejected"]


@pytest.mark.parametrize("withdraw", [amend, retract])
def test_a_withdrawn_proposal_supersedes_no_other_one(team, withdraw):
    create(team, "status=done")
    later = create(team, "status=review")
    assert states(team) == ["superseded", "pending"]
    withdraw(team, "conv-001", later.id, "something else", author=CAROL)
    assert states(team) == ["pending", "withdrawn"]


def test_a_proposal_of_the_same_value_after_a_withdrawn_one_is_a_new_one(team):
    made = create(team, "status=done")
    accept_proposal(team, None, made.id, author=CAROL, apply=False)
    amend(team, "conv-001", made.id, "something else", author=CAROL)
    again = create(team, "status=done")
    accept_proposal(team, None, again.id, author=CAROL)
    assert (states(team), values(team)) == (["withdrawn", "applied"], {"status": "done"})
