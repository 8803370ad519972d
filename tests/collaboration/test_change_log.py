"""The change log has what agents did: decisions, accepted values and messages (S4-49 to S4-52)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.conversation.append import append, retract
from scopes.conversation.branch import branch
from scopes.conversation.changes import changes
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.model.message import Author
from scopes.proposals.review import NewChange, accept_proposal, create_proposal, rollback_proposal
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
QUEUE = {"topic": "queue", "decision": "redis"}
ANN, BOB, CAROL = Author("ann"), Author("bob"), Author("carol", "human")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """Two agents, one of them away, and a person; the second conversation is not in the log of the first."""
    new(repository)
    new(repository)
    register(repository, "ann", capabilities=["review"])
    register(repository, "bob", available=False)
    register(repository, "carol", agent_type="human")
    return repository


def rows(repository, field, conversation=CONV):
    found = changes(repository, conversation, field=field).items
    return [(each.operation, each.field_path, each.before, each.after, each.cause) for each in found]


def sent(repository, text, *to, conversation=CONV, author=CAROL, **options):
    message = replace(plain_message(author.name, text), author=author)
    return send(StoreHandle(repository).branch(conversation), message, to, **options)


def proposed(repository, value, where=CONV):
    change = NewChange("status", "set", value)
    return create_proposal(StoreHandle(repository).branch(where), "task/42", [change], author=ANN).id


def decided(repository, decision, author="ann"):
    message = plain_message(author, decision, kind="decision")
    return append(repository, CONV, replace(message, payload={"topic": "queue", "decision": decision})).id


def test_an_accepted_proposal_changes_a_value(team):
    first = proposed(team, "done")
    accept_proposal(team, CONV, first, author=CAROL)
    rollback_proposal(team, CONV, first, author=BOB)
    assert rows(team, "entities") == [
        ("CREATE", "entities.task.42.status", None, "done", "user:carol"),
        ("DELETE", "entities.task.42.status", "done", None, "agent:bob"),
    ]


def test_a_decision_is_made_changed_and_withdrawn(team):
    decided(team, "redis")
    second = decided(team, "postgres", "bob")
    retract(team, CONV, second, "a mistake", author=CAROL)
    assert rows(team, "decisions") == [
        ("CREATE", "decisions.queue", None, "redis", "agent:ann"),
        ("UPDATE", "decisions.queue", "redis", "postgres", "agent:bob"),
        ("UPDATE", "decisions.queue", "postgres", "redis", "user:carol"),
    ]


def test_a_merge_repeats_no_row(team):
    """An exact duplicate is recorded once, on however many branches a message is."""
    branch(team, CONV, name="fix", switch=False)
    decided(team, "redis")
    proposed(team, "done", f"{CONV}/fix")
    before = [rows(team, field) for field in ("decisions", "messages")]
    merge(team, CONV, source="fix", target="main")
    after = [rows(team, field) for field in ("decisions", "messages")]
    assert after[0] == before[0]
    assert after[1][: len(before[1])] == before[1]


def test_messages_of_a_clock_that_goes_back_are_in_the_order_of_their_branch(team, monkeypatch):
    now = clock.now_nanoseconds()
    for number, seconds in enumerate((0, -60, -120)):
        monkeypatch.setattr(clock, "read_clock", lambda at=seconds: now + at * 10**9)
        append(team, CONV, plain_message("ann", f"text {number}"))
    subjects = [row[3]["subject"] for row in rows(team, "messages")]
    assert subjects == ["text 0", "text 1", "text 2"]


def test_a_merge_has_the_time_at_which_it_was_written(team, monkeypatch):
    """As in the log; its commit has that of the newest merged message, so that it is the same on every machine."""
    branch(team, CONV, name="fix", switch=False)
    append(team, CONV, plain_message("ann", "on fix"), branch="fix")
    append(team, CONV, plain_message("bob", "on main"))
    later = clock.now_nanoseconds() + 3600 * 10**9
    monkeypatch.setattr(clock, "read_clock", lambda: later)
    merge(team, CONV, source="fix", target="main")
    newest = [each for each in changes(team, CONV, field="messages").items if each.after["kind"] == "merge"][-1]
    assert newest.time[:19] == clock.now()[:19]


def test_a_branch_has_no_row_for_an_added_message_by_whatever_command(team):
    """Its rows are those of moves: the tips in them are no list of all tips."""
    append(team, CONV, plain_message("ann", "hello"))
    sent(team, "look", "ann")
    assert [row[0] for row in rows(team, "branches.main")] == ["CREATE"]
    undo(team)
    assert [row[0] for row in rows(team, "branches.main")] == ["CREATE", "UPDATE"]


def test_spellings_of_a_topic_are_one_field(team):
    branch(team, CONV, name="fix", switch=False)
    for where, topic, author in (("fix", "Naming", "ann"), ("main", "naming", "bob")):
        message = plain_message(author, author, kind="decision")
        append(team, CONV, replace(message, payload={"topic": topic, "decision": author}), branch=where)
    merge(team, CONV, source="fix", target="main")
    resolve_conflict(team, CONV, "1", take="source", author=CAROL)
    found = [row[:4] for row in rows(team, "decisions")]
    field = "decisions.naming"
    assert found == [("CREATE", field, None, "ann"), ("CREATE", field, None, "bob"), ("UPDATE", field, "bob", "ann")]
    assert len(rows(team, "decisions.naming")) == 3
