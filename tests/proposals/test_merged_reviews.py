"""Branches of which one accepted a proposal, and the other one applied it too: a merge is of one opinion."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.rebase import cherry_pick
from scopes.conversation.verify import verify
from scopes.errors import Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.transaction import append_as_operation
from scopes.model.canonical_json import leaf
from scopes.model.message import REVIEWS, Author
from scopes.proposals.review import accept_proposal, apply_proposal, rollback_proposal
from scopes.store.transactions import exclusive_write
from tests.support.proposals import create, states, values
from tests.support.store import git

CAROL = Author("carol", "human")
SIDES = pytest.mark.parametrize(("applied", "accepted"), [("main", "fix"), ("fix", "main")])


@pytest.fixture
def made(team):
    """A pending proposal on the branches main and fix."""
    made = create(team, "status=done")
    branch(team, "conv-001", name="fix", switch=False)
    return made.id


def accept(repository, proposal, where, *, apply=True):
    return accept_proposal(repository, f"conv-001/{where}", proposal, author=CAROL, apply=apply)


def conflicts(outcome):
    return [each.key for each in getattr(outcome, "conflicts", ())]


@pytest.mark.parametrize("strategy", ["automatic", "ours", "theirs", "manual"])
@SIDES
def test_what_one_side_applied_and_the_other_only_accepted_is_applied(team, made, applied, accepted, strategy):
    """S4-58. To take the acceptance left the values of a proposal that could not be applied or rolled back."""
    accept(team, made, applied)
    accept(team, made, accepted, apply=False)
    assert conflicts(merge(team, "conv-001", "fix", target="main", options=MergeOptions(strategy=strategy))) == []
    assert (states(team, "conv-001/main"), values(team)) == (["applied"], {"status": "done"})
    with pytest.raises(Refused, match="is applied"):
        apply_proposal(team, "conv-001/main", made, author=CAROL)
    rollback_proposal(team, "conv-001/main", made, author=CAROL)
    assert values(team) == {}
    assert verify(team).exit_code == 0


@SIDES
def test_what_was_rolled_back_stays_so_where_it_was_only_accepted(team, made, applied, accepted):
    accept(team, made, applied)
    rollback_proposal(team, f"conv-001/{applied}", made, author=CAROL)
    accept(team, made, accepted, apply=False)
    assert conflicts(merge(team, "conv-001", "fix", target="main")) == []
    assert (states(team, "conv-001/main"), values(team)) == (["applied"], {})
    with pytest.raises(Refused, match="is rolled back and cannot be accepted"):
        accept(team, made, "main")


@SIDES
def test_the_merged_state_is_that_of_the_merge_in_the_other_direction(team, made, applied, accepted):
    accept(team, made, applied)
    accept(team, made, accepted, apply=False)
    branch(team, "conv-001", name="copy", start="main", switch=False)
    trees = []
    for source, target in (("fix", "main"), ("copy", "fix")):
        merge(team, "conv-001", source, target=target)
        tip = StoreHandle(team).branch(f"conv-001/{target}").tip
        trees.append(git(team, "rev-parse", f"{tip}:state/reviews", f"{tip}:state/entities"))
    assert trees[0] == trees[1]


@SIDES
def test_an_acceptance_with_other_values_is_another_opinion(team, made, applied, accepted):
    accept(team, made, applied)
    accept_proposal(team, f"conv-001/{accepted}", made, values={"status": "review"}, author=CAROL, apply=False)
    assert conflicts(merge(team, "conv-001", "fix", target="main")) == [f"reviews/{made}"]


def test_an_acceptance_is_copied_to_a_branch_that_has_applied_the_proposal(team, made):
    accept(team, made, "main")
    accept(team, made, "fix", apply=False)
    done = cherry_pick(team, "conv-001", ["fix"], branch="main")
    assert conflicts(done) == []
    assert (states(team, "conv-001/main"), values(team)) == (["applied"], {"status": "done"})


@pytest.mark.parametrize("review", [b"[]", b'{"status": 1}', b'{"both": []}'])
def test_a_damaged_review_is_in_conflict_with_any_other(team, made, review):
    """The store may come from another person."""
    accept(team, made, "main")
    head = StoreHandle(team).branch("conv-001/fix")
    damage = {leaf(REVIEWS, made): review}
    with exclusive_write(team):
        name, message = head.conversation.id, plain_message("x", "x")
        append_as_operation(team, name, "fix", message, "resolve", "damage", state_changes=damage)
    assert conflicts(merge(team, "conv-001", "fix", target="main")) == [f"reviews/{made}"]
