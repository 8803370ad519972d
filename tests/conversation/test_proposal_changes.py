"""The change log has what becomes of proposals that nobody decided about: superseded, expired, withdrawn (S4-60)."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.amend import amend, retract
from scopes.conversation.branch import branch
from scopes.conversation.changes import changes
from scopes.conversation.merge import continue_merge, merge
from scopes.conversation.new import new
from scopes.conversation.resolve import resolve_conflict
from scopes.conversation.undo import redo, undo
from scopes.model.message import Author
from scopes.proposals.apply import rollback_proposal
from scopes.proposals.review import accept_proposal, modify_proposal, reject_proposal
from tests.support.proposals import accepted_value, create, states
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
CAROL = Author("carol", "human")
DAY = 86_400 * 10**9


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    new(repository)
    return repository


def moves(repository, *made):
    """Return how the state of each proposal changed, by its place in `made`, and who caused that."""
    numbers = {f"proposals.{each.id}": number for number, each in enumerate(made)}
    found = changes(repository, CONV, field="proposals").items
    return [
        (numbers[row.field_path], (row.before or {}).get("state"), (row.after or {}).get("state"), row.cause)
        for row in found
    ]


def is_listed(repository, *made):
    """Return True if the last rows are the states that `proposals list` has."""
    last = {
        row.field_path: (row.after or {}).get("state") for row in changes(repository, CONV, field="proposals").items
    }
    return [last[f"proposals.{each.id}"] for each in made] == states(repository)


def later(monkeypatch, nanoseconds):
    read = clock.read_clock
    monkeypatch.setattr(clock, "read_clock", lambda: read() + nanoseconds)


def test_a_newer_proposal_of_the_same_agent_supersedes_the_older_one(store):
    made = [create(store, "status=a"), create(store, "status=b"), create(store, "owner=c")]
    assert moves(store, *made) == [
        (0, None, "pending", "agent:planner"), (1, None, "pending", "agent:planner"),
        (0, "pending", "superseded", "agent:planner"), (2, None, "pending", "agent:planner"),
    ]  # fmt: skip
    assert is_listed(store, *made)
    (row,) = [
        each for each in changes(store, CONV, operation="UPDATE").items if each.field_path.startswith("proposals")
    ]
    assert row.after["superseded_by"] == made[1].id


def test_a_proposal_of_another_agent_or_entity_supersedes_nothing(store):
    made = [
        create(store, "status=a"),
        create(store, "status=a", agent="ann"),
        create(store, "status=a", entity="task/7"),
    ]
    assert [move[2] for move in moves(store, *made)] == ["pending"] * 3


def test_one_that_was_accepted_is_not_superseded(store):
    first = create(store, "status=a")
    accept_proposal(store, CONV, first.id, author=CAROL, apply=False)
    made = [first, create(store, "status=b")]
    assert moves(store, *made)[1:] == [(0, "pending", "accepted", "user:carol"), (1, None, "pending", "agent:planner")]
    assert is_listed(store, *made)


def test_what_expects_another_value_expires_when_one_is_applied_set_or_modified(store):
    for number, apply in enumerate((
        lambda made: accept_proposal(store, CONV, made.id, author=CAROL),
        lambda made: modify_proposal(store, CONV, made.id, {"status": "m"}, author=CAROL),
        lambda _: accepted_value(store, "status", "set"),
    )):  # fmt: skip
        made = [create(store, f"status=a{number}"), create(store, "status=b", agent="bob")]
        apply(made[0])
        last = changes(store, CONV, field=f"proposals.{made[1].id}").items[-1]
        assert (last.before, last.after) == ({"state": "pending"}, {"state": "expired"})


def test_a_rollback_lets_proposals_expire_too(store):
    first = create(store, "status=a")
    accept_proposal(store, CONV, first.id, author=CAROL)
    made = [first, create(store, "status=b", agent="bob")]
    rollback_proposal(store, CONV, first.id, author=CAROL)
    assert moves(store, *made)[-1] == (1, "pending", "expired", "user:carol")
    assert is_listed(store, *made)


def test_time_lets_a_proposal_expire_and_the_system_is_the_cause(store, monkeypatch):
    made = [create(store, "status=a", expires="1d"), create(store, "owner=b", expires="9d")]
    before = changes(store, CONV).items
    later(monkeypatch, 2 * DAY)
    after = changes(store, CONV).items
    assert after[: len(before)] == before
    (row,) = after[len(before) :]
    assert (row.operation, row.field_path, row.cause) == ("UPDATE", f"proposals.{made[0].id}", "system")
    assert row.time == changes(store, CONV, field=f"proposals.{made[0].id}").items[-1].time
    assert clock.parse_time(row.time) - clock.parse_time(before[-1].time) <= DAY + 60 * 10**9
    assert is_listed(store, *made)


def test_what_was_decided_in_time_does_not_expire(store, monkeypatch):
    made = [create(store, "status=a", expires="1d"), create(store, "owner=b", expires="1d")]
    accept_proposal(store, CONV, made[0].id, author=CAROL)
    reject_proposal(store, CONV, made[1].id, reason="too-risky", author=CAROL)
    later(monkeypatch, 2 * DAY)
    assert {move[2] for move in moves(store, *made)} == {"pending", "accepted", "applied", "rejected"}


def test_what_came_after_the_time_was_over_changes_no_earlier_row(store, monkeypatch):
    made = [create(store, "status=a", expires="1d")]
    later(monkeypatch, 2 * DAY)
    before = changes(store, CONV).items
    assert moves(store, *made)[-1] == (0, "pending", "expired", "system")
    made.append(create(store, "status=b"))
    assert changes(store, CONV).items[: len(before)] == before
    retract(store, CONV, made[0].id, "old", author=CAROL)
    assert changes(store, CONV).items[: len(before)] == before
    assert moves(store, *made)[-1] == (0, "expired", "withdrawn", "user:carol")


@pytest.mark.parametrize("accepted", [False, True])
def test_an_amended_message_withdraws_its_proposal(store, accepted):
    made = create(store, "status=a")
    if accepted:
        accept_proposal(store, CONV, made.id, author=CAROL, apply=False)
    amend(store, CONV, made.id, "no", author=CAROL)
    assert moves(store, made)[-1] == (0, "accepted" if accepted else "pending", "withdrawn", "user:carol")
    assert is_listed(store, made)


def test_a_retracted_message_withdraws_its_proposal_unless_it_was_applied(store):
    made = [create(store, "status=a"), create(store, "owner=b")]
    accept_proposal(store, CONV, made[1].id, author=CAROL)
    before = moves(store, *made)
    for each in made:
        retract(store, CONV, each.id, "no", author=CAROL)
    assert moves(store, *made)[len(before) :] == [(0, "pending", "withdrawn", "user:carol")]
    assert is_listed(store, *made)


def test_another_branch_does_not_change_a_proposal_before_it_is_merged(store):
    branch(store, CONV, name="fix", switch=False)
    made = create(store, "status=a")
    accepted_value(store, "status", "b", where=f"{CONV}/fix")
    assert [move[2] for move in moves(store, made)] == ["pending"]
    merge(store, CONV, source="fix", target="main")
    resolve_conflict(store, CONV, "1", take="source", author=CAROL)
    continue_merge(store, CONV)
    assert moves(store, made)[1:] == [(0, "pending", "superseded", "user:carol")]
    assert is_listed(store, made)


def test_undo_makes_a_superseded_proposal_pending_again_and_redo_takes_its_place(store):
    made = [create(store, "status=a"), create(store, "status=b")]
    undo(store)
    assert [move[:3] for move in moves(store, *made)][3:] == [(0, "superseded", "pending"), (1, "pending", None)]
    redo(store)
    assert [move[:3] for move in moves(store, *made)][5:] == [(1, None, "pending"), (0, "pending", "superseded")]
